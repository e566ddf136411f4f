//! The values that the scanner takes, skips and refuses, also compared with serde_json.

use proptest::prelude::*;

use super::*;
use crate::absent::or;

fn is_json(text: &str) -> bool {
    Json::new(text.as_bytes()).finish()
}

fn number(text: &str) -> f64 {
    Json::new(text.as_bytes()).number()
}

fn name(text: &str) -> String {
    Json::new(text.as_bytes()).model()
}

#[test]
fn unread_values_are_skipped() {
    let text = br#" { "a" : [1, {"b":"}"}], "b" : -1.5e3 , "c":{"d":[[]]}, "n" : 7 } "#;
    let mut seen = ABSENT;
    let mut json = Json::new(text);
    assert!(json.enter(b'{'));
    while let Some(key) = json.key() {
        if key == Word::of(b"n") {
            seen = json.count();
        }
    }
    assert_eq!((seen, json.finish()), (7.0, true));
}

#[test]
fn a_fault_after_the_last_read_value_is_found() {
    for text in [r#"{"n":7"#, r#"{"n":7,}"#, r#"{"n":7}}"#, r#"{"n":7 "m":8}"#, r#"{"n":7,"s":"\x"}"#] {
        let mut json = Json::new(text.as_bytes());
        let mut seen = ABSENT;
        assert!(json.enter(b'{'));
        while json.key().is_some() {
            seen = or(seen, json.count());
        }
        assert_eq!((seen, json.finish()), (7.0, false), "{text}");
    }
}

#[test]
fn a_key_is_the_same_word_wherever_it_stands() {
    for len in 0..40 {
        let key = "abcdefghijklmnopqrstuvwxyz0123456789_-+*"[..len].to_owned();
        for rest in ["", " ", "              "] {
            let text = format!("{{\"{key}\"{rest}:0{rest}}}");
            let mut json = Json::new(text.as_bytes());
            assert!(json.enter(b'{'));
            assert_eq!(json.key(), Some(Word::of(key.as_bytes())), "{text}");
            assert!(json.finish());
        }
    }
}

#[test]
fn null_false_and_an_empty_string_are_absent() {
    for (text, expected) in
        [(r#""a""#, true), (r#""""#, false), ("null", false), ("false", false), ("0", true), ("{}", true)]
    {
        assert_eq!(Json::new(text.as_bytes()).is_something(), expected, "{text}");
    }
}

#[test]
fn durations_and_counts_are_exact() {
    for text in ["0", "85.2", "1.0", "0.216", "2513.596", "1779147581.570175", "1e3", "2E-3"] {
        assert_eq!(number(text), text.parse::<f64>().unwrap(), "{text}");
    }
    assert_eq!(Json::new(b"9007199254740991").count(), 9_007_199_254_740_991.0);
    for text in ["1.5", "-1", "18446744073709551616", "\"7\"", "null"] {
        assert!(Json::new(text.as_bytes()).count().is_nan(), "{text}");
    }
}

#[test]
fn a_number_beyond_any_double_stays_finite() {
    assert_eq!(number("1e999999999999"), f64::MAX);
    assert_eq!(number("1e-999999999999"), 0.0);
    assert_eq!(number(&format!("0.{}1", "0".repeat(1000))), 0.0);
    assert_eq!(number(&"9".repeat(1000)), f64::MAX);
}

#[test]
fn only_a_string_in_the_shape_of_a_name_is_a_name() {
    assert_eq!(name(r#""meta\/llama-3:8b""#), "meta/llama-3:8b");
    let (long, slashes) = (format!("{:?}", "x".repeat(129)), format!("\"a{}\"", "\\/".repeat(128)));
    for text in [r#""""#, r#""my secret""#, r#""a\nb""#, r#""\u0061""#, "\"\u{e9}\"", "7", &long, &slashes] {
        assert_eq!(name(text), "", "{text}");
    }
    assert_eq!(name(&format!("\"a{}\"", "\\/".repeat(127))).len(), 128);
}

#[test]
fn nesting_deeper_than_128_is_invalid() {
    for (depth, expected) in [(128, true), (129, false)] {
        assert_eq!(is_json(&format!("{}{}", "[".repeat(depth), "]".repeat(depth))), expected);
    }
    assert!(!is_json(&"[".repeat(1_000_000)));
}

fn almost_json() -> impl Strategy<Value = String> {
    prop_oneof![
        r#"[\[\]{}:,"\\ \t0-9.eE+\-a-fnul]{0,24}"#,
        r#"(\{"a":|\[|\{|"b":|,|\}|\]|null|true|-?[0-9]{1,3}(\.[0-9])?(e[0-9])?|"[a-z\\\\"]{0,3}"| ){0,9}"#,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_scanner_accepts_exactly_valid_json(text in almost_json()) {
        // Numbers beyond a double are JSON by the grammar, but serde_json refuses them.
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(is_json(&text), theirs, "{}", text);
    }

    #[test]
    fn the_scanner_reads_numbers_as_rust_does(whole in 0..1u64 << 40, decimals in 0..1000u32, scale in -9..9i32) {
        let text = format!("{whole}.{decimals:03}e{scale}");
        let expected = text.parse::<f64>().unwrap();
        let read = number(&text);
        prop_assert!((read - expected).abs() <= expected * 4.0 * f64::EPSILON, "{text}: {read}");
    }

    #[test]
    fn every_place_of_a_special_byte_is_found(plain in "[a-zé]{0,40}", special in "[\"\\\\\u{1}\u{1f}]", more in "[a-z\"]{0,9}") {
        let text = format!("{plain}{special}{more}");
        prop_assert_eq!(plain_len(text.as_bytes()), plain.len());
    }
}

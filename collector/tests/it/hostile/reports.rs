//! Reports that cannot be: every field beyond its limits, forged and replayed ids, batches of every kind.

use serde_json::{Value, json};

use super::Expected::{Accepted, Known, Refused};
use super::{Case, IMPATIENT, Target, beacon, good};
use crate::harness::stream;

/// A beacon about one stream, with one field replaced.
fn with(id: u128, path: &str, value: &Value) -> Vec<u8> {
    let mut report = serde_json::to_value(stream(id, 100.0)).unwrap();
    *path.split('.').fold(&mut report, |at, name| &mut at[name]) = value.clone();
    beacon("", json!({ "reports": [report] }).to_string())
}

#[test]
fn no_field_goes_beyond_its_limits() {
    let target = Target::start(IMPATIENT);
    let mut cases = Vec::new();
    let days_40 = json!(40 * 86_400_000_i64);
    for duration in [
        "submit_delay_ms",
        "headers_ms",
        "first_byte_ms",
        "first_event_ms",
        "ttft_ms",
        "ttfv_ms",
        "ttfp_ms",
        "e2e_ms",
        "close_ms",
        "tpot_ms",
        "longest_gap_ms",
        "clock_resolution_ms",
        "network_timing.dns_ms",
        "network_timing.connect_ms",
        "network_timing.tls_ms",
        "network_timing.wait_ms",
        "page_lifecycle.end_delay_ms",
        "page_lifecycle.hidden_ms",
        "page_lifecycle.long_frames_ms",
        "probe_overhead.chunks_ms",
    ] {
        for value in [json!(-0.001), days_40.clone(), json!(1e308), json!("100"), json!([100]), json!(true)] {
            cases.push((duration, value));
        }
    }
    let lifecycle = [
        "page_lifecycle.freezes",
        "page_lifecycle.long_frames",
        "page_lifecycle.hidden_bytes",
        "page_lifecycle.after_stop_bytes",
    ];
    let overhead =
        ["probe_overhead.timed_chunks", "probe_overhead.memory_bytes", "probe_overhead.sent_bytes"];
    let counts = ["chunks", "events", "deltas", "stalls", "bytes", "rev"];
    for count in counts.into_iter().chain(lifecycle).chain(overhead) {
        for value in [json!(-1), json!(1.5), json!(u64::MAX), json!(1e30), json!("1")] {
            // As many bytes count as the limit.
            if count != "bytes" || value != json!(u64::MAX) {
                cases.push((count, value));
            }
        }
    }
    for tokens in ["input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens"] {
        cases.extend([(tokens, json!(-1)), (tokens, json!(1_000_000_001)), (tokens, json!(0.5))]);
    }
    let unfit_texts =
        ["x".repeat(257), "two\nlines".into(), "\u{202e}txet".into(), "\u{0}".into()].map(Value::from);
    for name in ["dialect", "model", "response_model", "finish_reason", "response_id"] {
        cases.extend(unfit_texts.iter().map(|value| (name, value.clone())));
        cases.push((name, json!("what the user typed")));
    }
    for name in ["use_case", "dialect", "provider", "variant", "model", "response_model"] {
        cases.push((name, json!(5)));
    }
    for name in ["browser", "os", "device", "connection", "visibility", "route"] {
        cases.push(("page", json!({ (name): "x".repeat(257) })));
        cases.push(("page", json!({ (name): "<script>\u{7f}" })));
    }
    for (field, value) in [
        ("status", json!(99)),
        ("status", json!(1000)),
        ("status", json!(65_736)),
        ("id", json!("")),
        ("id", json!("0".repeat(31))),
        ("id", json!("0".repeat(33))),
        ("id", json!("0".repeat(100_000))),
        ("id", json!("../../../../../../../etc/passwd")),
        ("id", json!("' OR 1=1; DROP TABLE streams; --")),
        ("id", json!("٠".repeat(16))),
        ("id", json!("+0000000000000000000000000000000")),
        ("id", json!("0x000000000000000000000000000000")),
        ("id", json!(1)),
        ("outcome", json!("fine")),
        ("outcome", json!("COMPLETE")),
        ("observed", json!("nothing")),
        ("open", json!(1)),
        ("defects", json!({ "stall": -1 })),
        ("defects", json!({ "stall": 1e99 })),
        ("server", json!({ "source": "" })),
        ("server", json!({ "source": "x".repeat(129) })),
        ("server", json!({ "source": "what the user typed" })),
        ("server", json!({ "source": "comment", "ttft_ms": days_40 })),
        ("server", json!({ "source": "comment", "output_tokens": u64::MAX })),
        ("server", json!({ "source": "comment", "starts_from": "dawn" })),
        ("gaps", json!({ "scale": 4, "offset": 0, "counts": [1] })),
        ("gaps", json!({ "scale": 5, "offset": i32::MIN, "counts": [1] })),
        ("gaps", json!({ "scale": 5, "offset": i32::MAX, "counts": [1, 1] })),
        ("gaps", json!({ "scale": 5, "offset": 0, "counts": [u64::MAX, u64::MAX] })),
        ("gaps", json!({ "scale": 5, "offset": 0, "counts": [13] })),
        ("gaps", json!({ "scale": 5, "offset": 0, "counts": [1], "sum": 1e300 })),
        ("gaps", json!({ "scale": 5, "offset": 0, "counts": [1], "sum": -1 })),
        ("gaps", json!({ "scale": 5, "offset": 0, "counts": vec![0; 60_000] })),
        ("first_event_ms", json!(98)),
        ("ttfv_ms", json!(98)),
        ("ttfp_ms", json!(98)),
        ("e2e_ms", json!(98)),
        ("close_ms", json!(98)),
        ("dropped", json!({ "queue_full": -1 })),
        ("dropped", json!({ "queue_full": u64::MAX })),
    ] {
        cases.push((field, value));
    }
    // Where serde_json reads a name, another type is a matter of syntax.
    let number_for_a_name = with(1, "outcome", &json!(0));
    let refused = |(field, value): &(&str, Value)| {
        let name =
            format!("{field} = {}", value.to_string().chars().take(40).collect::<String>().escape_debug());
        Case::new(name, with(1, field, value), Refused(400, "bad_field"))
    };
    let mut cases: Vec<_> = cases.iter().map(refused).collect();
    cases.push(Case::new("outcome = 0", number_for_a_name, Refused(400, "bad_json")));
    // A name of the app's own that is unfit is left out.
    for (name, value) in ["use_case", "provider", "variant"]
        .iter()
        .flat_map(|name| unfit_texts.iter().map(move |value| (name, value)))
    {
        let id = 1_000 + cases.len() as u128;
        cases.push(Case::new(format!("{name} = {value:.40?}"), with(id, name, value), Accepted));
    }
    target.withstands(&cases);
}

#[test]
fn versions_and_batches_are_told_apart() {
    let target = Target::start(IMPATIENT);
    let reports = |count: u128| {
        let reports: Vec<_> = (0..count).map(|id| stream(1_000 + id, 100.0)).collect();
        beacon("", json!({ "reports": reports }).to_string())
    };
    let tiny = r#"{"v":1,"id":"00000000000000000000000000000001","outcome":"complete","chunks":0,"events":0,"deltas":0,"bytes":0}"#;
    let many_tiny = format!("{{\"reports\":[{}]}}", [tiny; 2_200].join(","));
    let (version, batch) = (Refused(400, "unknown_version"), Refused(400, "bad_batch"));
    let cases = [
        Case::new("version 0", with(1, "v", &json!(0)), version),
        Case::new("version 2", with(1, "v", &json!(2)), version),
        Case::new("the last version there can be", with(1, "v", &json!(u32::MAX)), version),
        Case::new(
            "a later version with other types",
            beacon("", r#"{"reports":[{"v":9,"id":["moved"]}]}"#),
            version,
        ),
        Case::new("a version that is text", with(1, "v", &json!("1")), Refused(400, "bad_field")),
        Case::new("a version beyond 32 bits", with(1, "v", &json!(1_u64 << 32)), version),
        Case::new("no report", beacon("", r#"{"reports":[]}"#), batch),
        Case::new("101 reports", reports(101), batch),
        Case::new("2,200 reports", beacon("", many_tiny), batch),
        Case::new(
            "a good report after a bad one",
            beacon("", json!({ "reports": [{ "v": 1 }, stream(1, 100.0)] }).to_string()),
            Refused(400, "bad_field"),
        ),
        Case::new("another site's name in the report", with(5, "site", &json!("somebody")), Accepted),
    ];
    target.withstands(&cases);
}

#[test]
fn forged_and_replayed_ids_count_nothing_twice() {
    let target = Target::start(IMPATIENT);
    let id = 0xabcd_u128;
    let mut cases = vec![Case::new("a stream", beacon("", good(id)), Accepted)];
    for replay in 1..=50 {
        cases.push(Case::new(format!("replay {replay}"), beacon("", good(id)), Known));
    }
    let large = good(id).replace("abcd", "ABCD");
    cases.extend([
        Case::new("the same id in capitals", beacon("", large), Known),
        Case::new("a later revision", with(id, "rev", &json!(7)), Known),
        Case::new("an earlier revision", with(id, "rev", &json!(3)), Known),
        Case::new("the last revision there can be", with(id, "rev", &json!(u32::MAX)), Known),
        Case::new(
            "a revision after the last",
            with(id, "rev", &json!(1_u64 << 32)),
            Refused(400, "bad_field"),
        ),
        Case::new(
            "the same id twice in a batch",
            beacon("", json!({ "reports": [stream(id, 1.0), stream(id, 1.0)] }).to_string()),
            Known,
        ),
        Case::new("the first id", beacon("", good(0)), Accepted),
        Case::new("the last id", beacon("", good(u128::MAX)), Accepted),
    ]);
    target.withstands(&cases);
    assert_eq!(target.process.json("/v1/summary")["streams"], 3);
}

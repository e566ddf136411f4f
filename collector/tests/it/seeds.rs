//! The seeds of the fuzz targets, and what fuzzing has found to reach code that no seed reaches, on
//! stable Rust.

use std::path::Path;

use collector::fuzzing::{dropped_points, engine_models, facts, judge, reread};
use collector::{ConfigError, Draft};

fn each_file(folder: &str, mut check: impl FnMut(&str, &[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder);
    let mut seeds = 0;
    for seed in std::fs::read_dir(&folder).unwrap() {
        let path = seed.unwrap().path();
        check(&path.display().to_string(), &std::fs::read(&path).unwrap());
        seeds += 1;
    }
    assert!(seeds >= 5, "{seeds} seeds in {}", folder.display());
}

#[test]
fn a_beacon_of_the_seeds_is_good_unless_its_name_gives_the_code() {
    each_file("seeds/beacon", |path, body| {
        let expected = Path::new(path).file_stem().unwrap().to_str().unwrap();
        match judge(body) {
            Ok(reports) => assert!(expected.starts_with("good") && reports > 0, "{path}"),
            Err(code) => assert!(expected.starts_with(code), "{path}: {code}"),
        }
    });
}

#[test]
fn a_config_seed_has_as_many_mistakes_as_its_name_says() {
    each_file("seeds/config", |path, text| {
        let expected = Path::new(path).file_stem().unwrap().to_str().unwrap();
        match Draft::parse(str::from_utf8(text).unwrap(), std::iter::empty()).finish() {
            Ok(_) => assert!(expected.starts_with("good"), "{path}"),
            Err(ConfigError::Mistakes { mistakes, .. }) => {
                assert!(expected.starts_with(&format!("{}-", mistakes.len())), "{path}: {mistakes:#?}");
            }
            Err(other) => panic!("{path}: {other}"),
        }
    });
}

#[test]
fn a_record_of_the_seeds_is_good_unless_its_name_says_otherwise() {
    each_file("seeds/journal", |path, bytes| {
        let expected = Path::new(path).file_stem().unwrap().to_str().unwrap();
        assert_eq!(reread(bytes), expected.starts_with("good"), "{path}");
    });
}

#[test]
fn timings_of_the_seeds_have_as_many_facts_as_the_name_says() {
    each_file("seeds/facts", |path, body| {
        let name = Path::new(path).file_stem().unwrap().to_str().unwrap();
        assert_eq!(facts(body).to_string(), name.split('-').next().unwrap(), "{path}");
    });
}

#[test]
fn an_answer_of_the_seeds_drops_as_many_points_as_its_name_says() {
    each_file("seeds/otlp", |path, answer| {
        let name = Path::new(path).file_stem().unwrap().to_str().unwrap();
        let mut words = name.split('-');
        match dropped_points(answer) {
            Some((points, why)) => {
                assert_eq!(words.next(), Some("dropped"), "{path}");
                assert_eq!(words.next(), Some(&*points.to_string()), "{path}");
                assert!(!why.chars().any(char::is_control) && why.chars().count() <= 220, "{path}: {why}");
            }
            None => assert_eq!(words.next(), Some("none"), "{path}"),
        }
    });
}

#[test]
fn metrics_of_the_seeds_have_as_many_models_as_their_name_says() {
    each_file("seeds/engines", |path, bytes| {
        let expected = Path::new(path).file_stem().unwrap().to_str().unwrap();
        assert!(expected.starts_with(&format!("{}-", engine_models(bytes))), "{path}");
    });
}

#[test]
fn inputs_found_by_fuzzing_are_handled_again() {
    each_file("found/beacon", |_, body| {
        // Good or not, it returns, and what is good survives the journal.
        let _either = judge(body);
    });
    each_file("found/otlp", |_, answer| {
        if let Some((points, why)) = dropped_points(answer) {
            assert!(points > 0 && !why.chars().any(char::is_control));
        }
    });
    each_file("found/journal", |_, bytes| {
        // No report, or one that is the same after it was written and read again.
        let _either = reread(bytes);
    });
    each_file("found/config", |path, text| {
        if let Ok(text) = str::from_utf8(text)
            && let Err(ConfigError::Mistakes { mistakes, .. }) =
                Draft::parse(text, std::iter::empty()).finish()
        {
            assert!(!mistakes.is_empty(), "{path}");
        }
    });
}

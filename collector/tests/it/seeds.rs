//! The seeds of the fuzz targets, and whatever fuzzing has found, on stable Rust.

use std::path::Path;

use collector::{ConfigError, Draft, judge};

fn each_seed(target: &str, mut check: impl FnMut(&str, &[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
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
    each_seed("beacon", |path, body| {
        let expected = Path::new(path).file_stem().unwrap().to_str().unwrap();
        match judge(body) {
            Ok(reports) => assert!(expected.starts_with("good") && reports > 0, "{path}"),
            Err(code) => assert!(expected.starts_with(code), "{path}: {code}"),
        }
    });
}

#[test]
fn a_configuration_of_the_seeds_is_good_unless_its_name_tells_how_many_mistakes() {
    each_seed("config", |path, text| {
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

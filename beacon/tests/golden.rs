//! Reports of schema version 1 decode forever, and an encoder writes what they say.

use beacon::{Batch, Defect, Outcome, ServerStart, StreamReport};

fn check(golden: &str, look: impl FnOnce(&StreamReport)) {
    let report: StreamReport = serde_json::from_str(golden).unwrap();
    look(&report);
    let again: serde_json::Value = serde_json::to_value(&report).unwrap();
    assert_eq!(again, serde_json::from_str::<serde_json::Value>(golden).unwrap());
}

#[test]
fn a_full_report_decodes_and_encodes() {
    check(include_str!("golden/v1-full.json"), |report| {
        assert_eq!(report.outcome, Outcome::Complete);
        assert_eq!(report.gaps.as_ref().unwrap().count(), 3);
        assert_eq!(report.defects.get(Defect::Stall), 1);
        assert_eq!(report.server.as_ref().unwrap().starts_from, Some(ServerStart::Arrival));
        assert_eq!(report.overhead_ms(), Some(7061.3 - 6990.0));
    });
}

#[test]
fn a_bare_report_decodes_and_encodes() {
    check(include_str!("golden/v1-bare.json"), |report| {
        assert_eq!(report.outcome, Outcome::NetworkError);
        assert_eq!(report.ttft_ms, None, "absent is not zero");
    });
}

#[test]
fn an_open_report_decodes_and_encodes() {
    check(include_str!("golden/v1-open.json"), |report| {
        assert!(report.open);
        assert_eq!(report.close_ms, None);
    });
}

#[test]
fn every_defect_of_version_1_keeps_its_word() {
    check(include_str!("golden/v1-defects.json"), |report| {
        let counts = report.defects.iter().map(|(_, count)| count).collect::<Vec<_>>();
        assert_eq!(counts, (1..=19).collect::<Vec<_>>(), "in the order of the tables");
    });
}

#[test]
fn a_field_of_a_newer_probe_is_skipped() {
    let json = r#"{"reports":[{"v":1,"id":"0","outcome":"empty","chunks":0,"events":0,"deltas":0,"bytes":0,"later":{"x":[1]}}]}"#;
    let batch: Batch = serde_json::from_str(json).unwrap();
    assert_eq!(batch.reports[0].outcome, Outcome::Empty);
}

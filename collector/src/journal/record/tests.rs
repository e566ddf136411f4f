//! A record decodes to the report that was written; foreign and damaged bytes decode to none and do not panic.

use beacon::{Defect, Defects, Histogram, Observed};
use proptest::prelude::*;

use super::*;
use crate::fuzzing::reread;

/// A report in which every field has a distinct value.
pub(crate) fn full() -> StreamReport {
    let mut defects = Defects::default();
    for (at, defect) in Defect::ALL.iter().enumerate() {
        defects.set(*defect, at as u32 + 1);
    }
    let gaps = Histogram::from_dense(3, 1234.5678, -7, vec![1, 0, 300, u64::MAX >> 1]).unwrap();
    let json = r#"{"v":1,"id":"000102030405060708090a0b0c0d0eff","rev":2,"open":true,"site":"a","use_case":"b",
        "observed":"chunks","dialect":"c","provider":"d","model":"e","response_model":"f","response_id":"g",
        "status":200,"outcome":"network_error","finish_reason":"h","submit_delay_ms":0.1,"headers_ms":0.2,
        "first_byte_ms":0.25,"first_event_ms":1e-9,"ttft_ms":86400000.0,"ttfv_ms":0.0,"ttfp_ms":-0.0,
        "e2e_ms":1234.56789,"close_ms":99.9,"chunks":1,"events":128,"deltas":16384,"bytes":1099511627776,
        "input_tokens":0,"output_tokens":5,"reasoning_tokens":6,"cached_tokens":7,"tpot_ms":8.5,
        "longest_gap_ms":9.0,"stalls":4294967295,
        "marks":[{"name":"retrieval","at_ms":12.5},{"name":"p","at_ms":0.0}],
        "network_timing":{"dns_ms":1.5,"connect_ms":2.5,"tls_ms":3.5,"wait_ms":4.5},
        "page_lifecycle":{"protocol":"h3","end_delay_ms":1.5,"hidden_ms":2.5,"freezes":1,"restored":true,
        "prerendered":true,"long_frames":2,"long_frames_ms":160.5,"hidden_bytes":3,"after_stop_bytes":4},
        "probe_overhead":{"timed_chunks":5,"chunks_ms":0.3,"memory_bytes":196608,"sent_bytes":7},
        "server":{"source":"vllm","starts_from":"prefill","queue_ms":1.0,"ttft_ms":2.0,"generation_ms":3.0,
        "output_tokens":4},
        "page":{"browser":"i","os":"j","device":"k","connection":"l","visibility":"m","release":"ñ","route":"/o"},
        "clock_resolution_ms":0.005,"left_out":3,"dropped":{"queue_full":1,"send_failed":2,"refused":3,"early":4}}"#;
    StreamReport { gaps: Some(gaps), defects, ..serde_json::from_str(json).unwrap() }
}

fn written(report: &StreamReport) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(u128::from_str_radix(&report.id, 16).unwrap(), None, None, report, &mut bytes);
    bytes
}

fn check(bytes: &[u8], country: Option<Country>, report: StreamReport) {
    let id = u128::from_str_radix(&report.id, 16).unwrap();
    assert_eq!(read(bytes), Some(Record { id, country, visit: None, report }));
}

#[test]
fn full_and_empty_reports_are_the_same_after_decoding() {
    let cloned = StreamReport { observed: Observed::Arrival, ..full() };
    for report in [full(), cloned, StreamReport::new("0".repeat(32))] {
        check(&written(&report), None, report);
    }
}

#[test]
fn discarded_counts_are_decoded_and_are_no_report() {
    let discarded = Discarded { sampled_out: 300, ignored_fields: u64::MAX };
    let mut bytes = Vec::new();
    write_discarded(discarded, &mut bytes);
    assert_eq!((read_discarded(&bytes), read(&bytes)), (Some(discarded), None));
    assert_eq!(read_discarded(&bytes[..bytes.len() - 1]), None);
    bytes.push(0);
    assert_eq!(read_discarded(&bytes), None);
    assert_eq!(read_discarded(&written(&full())), None);
}

#[test]
fn a_country_is_decoded_and_an_unknown_one_refused() {
    let (mut bytes, report) = (Vec::new(), full());
    let country = Country::of_code("DE");
    write(u128::from_str_radix(&report.id, 16).unwrap(), country, None, &report, &mut bytes);
    check(&bytes, country, report);
    bytes[1] = b'X';
    assert_eq!(read(&bytes), None);
}

#[test]
fn a_visit_is_decoded_with_and_without_a_country() {
    let report = full();
    let id = u128::from_str_radix(&report.id, 16).unwrap();
    for country in [None, Country::of_code("DE")] {
        for hash in [0, u64::MAX] {
            let (mut bytes, visit) = (Vec::new(), Some(hash));
            write(id, country, visit, &report, &mut bytes);
            assert_eq!(read(&bytes), Some(Record { id, country, visit, report: report.clone() }));
            let twice = [&bytes[..9], &bytes].concat();
            assert_eq!(read(&twice), None, "a record has one visit");
        }
    }
}

#[test]
fn the_json_of_earlier_versions_is_read_as_well() {
    let report = full();
    check(serde_json::to_string(&report).unwrap().as_bytes(), None, report);
}

#[test]
fn a_record_is_smaller_than_half_of_its_json() {
    let (bytes, json) = (written(&full()).len(), serde_json::to_string(&full()).unwrap().len());
    assert!(bytes * 2 < json, "{bytes} of {json}");
}

#[test]
fn a_record_of_the_wrong_length_or_layout_is_refused() {
    let mut bytes = written(&full());
    for cut in 0..bytes.len() {
        assert_eq!(read(&bytes[..cut]), None, "cut at {cut}");
    }
    bytes.push(0);
    assert_eq!(read(&bytes), None);
    for layout in [0, 2, 3, 4, 255] {
        bytes[0] = layout;
        assert_eq!(read(&bytes), None);
    }
}

proptest! {
    #[test]
    fn any_bytes_after_a_layout_are_a_record_or_none(
        layout in 0..5_u8, rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _either = reread(&[&[layout], rest.as_slice()].concat());
    }

    #[test]
    fn any_duration_is_decoded_to_the_last_bit(duration in any::<f64>()) {
        let report = StreamReport { ttft_ms: Some(duration), ..full() };
        let back = read(&written(&report)).unwrap().report;
        prop_assert_eq!(back.ttft_ms.map(f64::to_bits), Some(duration.to_bits()));
    }

    #[test]
    fn a_changed_record_never_panics(at in any::<prop::sample::Index>(), with in any::<[u8; 9]>()) {
        let mut bytes = written(&full());
        let at = at.index(bytes.len() - with.len());
        bytes[at..at + with.len()].copy_from_slice(&with);
        let _either = reread(&bytes);
    }
}

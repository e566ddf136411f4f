//! Adds native buckets and exemplars to messages of the `prometheus` crate, which lacks both. It writes them
//! as unknown fields with the numbers of `io/prometheus/client/metrics.proto`.

use prometheus::proto::{Bucket, Histogram};

use crate::aggregate::cumulative_stats::{Buckets, NATIVE_SCHEMA};

/// A single stream that exemplifies a bucket.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exemplar {
    pub(super) stream_id: String,
    /// The stream's trace on the server, where a layer named it.
    pub(super) trace_id: Option<String>,
    /// In the exported unit.
    pub(super) value: f64,
    pub(super) received_ms: i64,
}

/// Adds native buckets to a classic histogram of the same values.
pub(super) fn add_native(histogram: &mut Histogram, buckets: &Buckets) {
    // Of each run of adjacent buckets: the distance from the end of the run before, and the length.
    let mut spans: Vec<(i32, u64)> = Vec::new();
    let mut deltas = Vec::new();
    let (mut end, mut before) = (0, 0);
    for (number, count) in buckets.native() {
        match spans.last_mut() {
            Some((_, length)) if number == end => *length += 1,
            _ => spans.push((number - end, 1)),
        }
        end = number + 1;
        varint(&mut deltas, zigzag(count.cast_signed() - before));
        before = count.cast_signed();
    }
    let fields = histogram.special_fields.mut_unknown_fields();
    fields.add_varint(5, zigzag(i64::from(NATIVE_SCHEMA)));
    // Without a threshold, an empty histogram would look like a classic one.
    fields.add_fixed64(6, SMALLEST.to_bits());
    fields.add_varint(7, buckets.zero());
    for (distance, length) in spans {
        let mut span = Vec::new();
        varint_field(&mut span, 1, zigzag(distance.into()));
        varint_field(&mut span, 2, length);
        fields.add_length_delimited(12, span);
    }
    fields.add_length_delimited(13, deltas);
}

/// Adds an exemplar to a classic bucket. Prometheus also takes the exemplars of a native histogram from
/// there.
pub(super) fn add_exemplar(bucket: &mut Bucket, exemplar: &Exemplar) {
    let (mut time, mut message) = (Vec::new(), Vec::new());
    let trace = exemplar.trace_id.as_deref().map(|id| ("trace_id", id));
    for (name, id) in [("stream_id", exemplar.stream_id.as_str())].into_iter().chain(trace) {
        let mut label = Vec::new();
        bytes_field(&mut label, 1, name.as_bytes());
        bytes_field(&mut label, 2, id.as_bytes());
        bytes_field(&mut message, 1, &label);
    }
    varint_field(&mut time, 1, exemplar.received_ms.div_euclid(1_000).cast_unsigned());
    varint_field(&mut time, 2, exemplar.received_ms.rem_euclid(1_000).cast_unsigned() * 1_000_000);
    varint(&mut message, 2 << 3 | FIXED64);
    message.extend_from_slice(&exemplar.value.to_le_bytes());
    bytes_field(&mut message, 3, &time);
    bucket.special_fields.mut_unknown_fields().add_length_delimited(3, message);
}

fn varint_field(out: &mut Vec<u8>, number: u64, value: u64) {
    varint(out, number << 3);
    varint(out, value);
}

pub(super) fn bytes_field(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    varint(out, number << 3 | DELIMITED);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Default zero threshold of Prometheus' client libraries: 2^-128.
const SMALLEST: f64 = 2.938_735_877_055_719e-39;

const FIXED64: u64 = 1;
const DELIMITED: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of fields 5, 6, 7, 12 and 13, sorted by number.
    fn fields(buckets: &Buckets) -> Vec<(u32, String)> {
        let mut histogram = Histogram::default();
        add_native(&mut histogram, buckets);
        let unknown = histogram.special_fields.unknown_fields();
        let mut fields: Vec<_> =
            unknown.iter().map(|(number, value)| (number, format!("{value:?}"))).collect();
        fields.sort();
        fields
    }

    #[test]
    fn buckets_become_spans_and_differences() {
        let mut buckets = Buckets::default();
        for (seconds, times) in [(0.0, 3), (0.5, 2), (0.53, 5), (2.0, 1)] {
            (0..times).for_each(|_| buckets.record(&[], &[], seconds));
        }
        let expected = [
            (5, "Varint(6)".to_owned()),
            (6, format!("Fixed64({})", SMALLEST.to_bits())),
            (7, "Varint(3)".to_owned()),
            // Two buckets from -8 on, then a gap of fourteen and one more bucket.
            (12, "LengthDelimited([8, 15, 16, 2])".to_owned()),
            (12, "LengthDelimited([8, 28, 16, 1])".to_owned()),
            (13, "LengthDelimited([4, 6, 7])".to_owned()),
        ];
        assert_eq!(fields(&buckets), expected);
    }

    #[test]
    fn an_empty_histogram_is_native_too() {
        assert!(fields(&Buckets::default()).iter().any(|(number, _)| *number == 6));
    }
}

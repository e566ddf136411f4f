//! Rows of the tables as JSON arrays, one per line: encodes statistics and reports, decodes sums.

use std::collections::BTreeMap;

use beacon::Histogram;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::client::ClickHouseError;
use crate::aggregate::blob_encoding::UnreadableBlob;
use crate::aggregate::dimension::{Dimension, UNKNOWN};
use crate::aggregate::metric::Metric;
use crate::aggregate::series::Series;
use crate::aggregate::window_stats::{Parts, Sum, WindowStats};
use crate::store::error::StoreError;

/// Rows of one insert.
#[derive(Default)]
pub(super) struct Rows {
    text: Vec<u8>,
    count: usize,
}

impl Rows {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.text
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether one insert should contain no more.
    pub(super) const fn is_full(&self) -> bool {
        self.count >= MOST_ROWS || self.text.len() >= MOST_BYTES
    }

    /// Adds a row of values.
    pub(super) fn push<'a>(&mut self, values: impl IntoIterator<Item = Value<'a>>) {
        self.begin();
        values.into_iter().for_each(|value| self.value(&value));
        self.end();
    }

    /// Adds a row of values and all columns of statistics.
    pub(super) fn push_stats<'a>(
        &mut self,
        values: impl IntoIterator<Item = Value<'a>>,
        stats: &WindowStats,
    ) {
        self.begin();
        values.into_iter().for_each(|value| self.value(&value));
        self.stats(stats);
        self.end();
    }

    fn begin(&mut self) {
        self.text.push(b'[');
    }

    fn end(&mut self) {
        // Removes the comma after the last value.
        self.text.pop();
        self.text.extend(b"]\n");
        self.count += 1;
    }

    fn value(&mut self, value: &Value<'_>) {
        match value {
            Value::Text(text) => self.json(text),
            Value::Figure(figure) => self.json(figure),
            Value::Hash(hash) => self.json(hash),
            Value::Number(number) => self.text.extend(number.to_string().as_bytes()),
        }
        self.text.push(b',');
    }

    fn stats(&mut self, stats: &WindowStats) {
        self.map(stats.outcomes().map(|(outcome, count)| (outcome.as_str(), count)));
        self.map(stats.defects().map(|(defect, count)| (defect.as_str(), count)));
        self.map(stats.sources());
        self.map(stats.wait_causes().map(|(cause, count)| (cause.as_str(), count)));
        self.map(stats.pace_causes().map(|(cause, count)| (cause.as_str(), count)));
        self.map(stats.in_flight().by_minutes_before());
        for sum in Sum::ALL {
            self.value(&Value::Number(stats.sum(sum).into()));
        }
        let histograms = || Metric::ALL.into_iter().map(|metric| (metric.id(), stats.histogram(metric)));
        self.map(histograms().map(|(name, held)| (name, held.zero())).filter(|(_, zero)| *zero > 0));
        self.map(histograms().filter(|(_, held)| !held.is_empty()).map(|(name, held)| (name, held.sum())));
        for (_, held) in histograms() {
            self.map(held.indexed());
        }
    }

    fn map<K: ToString, V: serde::Serialize>(&mut self, entries: impl Iterator<Item = (K, V)>) {
        self.text.push(b'{');
        let mut is_first = true;
        for (key, value) in entries {
            if !is_first {
                self.text.push(b',');
            }
            is_first = false;
            self.json(&key.to_string());
            self.text.push(b':');
            self.json(&value);
        }
        self.text.extend(b"},");
    }

    fn json<T: serde::Serialize + ?Sized>(&mut self, value: &T) {
        serde_json::to_writer(&mut self.text, value).expect("memory takes any length");
    }
}

/// One value of a row.
pub(super) enum Value<'a> {
    Text(&'a str),
    Number(i128),
    /// `None` becomes null.
    Figure(Option<f64>),
    /// `None` becomes null.
    Hash(Option<u64>),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

/// The values of all dimensions.
pub(super) fn dimensions(series: &Series) -> impl Iterator<Item = Value<'_>> {
    Dimension::all().map(|dimension| Value::Text(written(dimension, &series[dimension])))
}

/// A value as the tables store it. Of a dimension of windows only, an unknown value is an empty string, as in rows
/// from before the dimension was added.
pub(super) fn written(dimension: Dimension, value: &str) -> &str {
    if dimension.is_window_only() && value == UNKNOWN { "" } else { value }
}

/// The value of a dimension of windows only that a stored one means.
pub(super) fn meant(written: String) -> String {
    if written.is_empty() { UNKNOWN.to_owned() } else { written }
}

/// The columns of statistics with these metrics: name, aggregate function, type.
pub(super) fn stats_columns(
    metrics: &[Metric],
) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let words = ["outcomes", "defects", "sources", "wait_causes", "pace_causes", "in_flight_ms"];
    let words = words.map(|name| (name, "sumMap", WORDS));
    let numbers = Sum::ALL.map(|sum| (sum.as_str(), "sum", "UInt64"));
    let beside = [("zeros", "sumMap", WORDS), ("sums", "sumMap", "Map(LowCardinality(String), Float64)")];
    let buckets = metrics.iter().map(|metric| (metric.id(), "sumMap", "Map(Int16, UInt64)"));
    words.into_iter().chain(numbers).chain(beside).chain(buckets)
}

/// Calls `each` with every row of a response.
pub(super) fn each<T: DeserializeOwned>(
    answer: &str,
    mut each: impl FnMut(T) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    answer.lines().try_for_each(|line| each(serde_json::from_str(line).map_err(ClickHouseError::from)?))
}

/// Decodes a row: the first minute, the values of dimensions, and the summed [`stats_columns`] of these metrics.
pub(super) fn summed<const N: usize>(
    line: &str,
    metrics: &[Metric],
) -> Result<(i64, [String; N], WindowStats), StoreError> {
    let cells: Vec<&RawValue> = read(line)?;
    let mut cells = cells.into_iter().map(RawValue::get);
    let mut next = || cells.next().unwrap_or("null");
    let (start, values) = (read(next())?, read::<Vec<String>>(next())?);
    let values = values.try_into().map_err(|_| UnreadableBlob)?;
    let mut words = || Ok::<_, StoreError>(read::<BTreeMap<String, u64>>(next())?.into_iter().collect());
    let (outcomes, defects, sources) = (words()?, words()?, words()?);
    let (wait_causes, pace_causes) = (words()?, words()?);
    let in_flight: BTreeMap<usize, u64> = read(next())?;
    let in_flight = in_flight.into_iter().collect();
    let sums = Sum::ALL.iter().map(|_| read(next())).collect::<Result<_, _>>()?;
    let zeros: BTreeMap<String, u64> = read(next())?;
    let value_sums: BTreeMap<String, f64> = read(next())?;
    let mut histograms = Vec::new();
    for &metric in metrics {
        let buckets: BTreeMap<i32, u64> = read(next())?;
        let zero = zeros.get(metric.id()).copied().unwrap_or_default();
        let sum = value_sums.get(metric.id()).copied().unwrap_or_default();
        let histogram = Histogram::from_indexed(zero, sum, buckets);
        histograms.push((metric, histogram.map_err(|_| UnreadableBlob)?));
    }
    let parts = Parts { outcomes, defects, sources, wait_causes, pace_causes, sums, in_flight, histograms };
    Ok((start, values, WindowStats::from_parts(parts)?))
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ClickHouseError> {
    Ok(serde_json::from_str(text)?)
}

const WORDS: &str = "Map(LowCardinality(String), UInt64)";

const MOST_ROWS: usize = 5_000;
const MOST_BYTES: usize = 8 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use beacon::{Outcome, StreamReport};

    use super::*;
    use crate::aggregate::judgement::Judgement;

    #[test]
    fn a_row_decodes_to_the_window_stats_it_encodes() {
        let mut stats = WindowStats::default();
        for ttft_ms in [0.0, 0.25, 812.5, 1e6] {
            let report = StreamReport {
                outcome: Outcome::Truncated,
                ttft_ms: Some(ttft_ms),
                output_tokens: Some(7),
                ..StreamReport::new("0")
            };
            stats.add(&report, Judgement::WITHIN_SLO);
            stats.add_in_flight(&report, 60_500);
        }
        let mut rows = Rows::default();
        rows.push_stats([Value::Number(77), "it's \"m\"\n".into()], &stats);
        let line = std::str::from_utf8(rows.bytes()).unwrap().trim_end_matches('\n').to_owned();
        let line = grouped(&line, r#""it's \"m\"\n""#);
        let (start, [value], back) = summed(&line, &Metric::ALL).unwrap();
        assert_eq!((start, value.as_str(), back), (77, "it's \"m\"\n", stats));
    }

    #[test]
    fn a_row_with_missing_columns_or_unknown_words_is_refused() {
        for line in ["", "[]", "[1,\"\",{\"complete\":1}]", "{}"] {
            assert!(summed::<0>(line, &Metric::ALL).is_err(), "{line}");
        }
        let mut rows = Rows::default();
        rows.push_stats([Value::Number(1), "".into()], &WindowStats::default());
        let line = grouped(std::str::from_utf8(rows.bytes()).unwrap().trim_end(), r#""""#);
        assert!(summed::<1>(&line, &Metric::ALL).is_ok());
        assert!(summed::<2>(&line, &Metric::ALL).is_err());
        assert!(summed::<1>(&line.replacen("{}", "{\"no outcome\":1}", 1), &Metric::ALL).is_err());
    }

    /// The line as a query returns it: the value of a dimension in an array.
    fn grouped(line: &str, value: &str) -> String {
        line.replacen(value, &format!("[{value}]"), 1)
    }
}

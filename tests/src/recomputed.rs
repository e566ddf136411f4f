//! Every figure that a collector answers with, worked out a second time from single reports and from the words
//! of `docs/metrics.md`, `docs/statistics.md` and `docs/query-api.md`. Nothing here calls the product's own
//! arithmetic.

use std::collections::BTreeMap;

use serde_json::Value;

/// The bound that every answer gives for its percentiles, and the rounding to a microsecond.
const RELATIVE_ERROR: f64 = 0.0109;

/// Metrics with percentiles, by their ids.
pub const METRICS: [&str; 12] = [
    "ttfv",
    "ttft",
    "ttfp",
    "e2e",
    "generation",
    "engine_generation",
    "tpot",
    "output_rate",
    "inter_chunk_latency",
    "server_ttft",
    "server_queue",
    "overhead",
];

/// End of the names of a metric's values: its unit.
#[must_use]
pub fn unit(metric: &str) -> &'static str {
    if metric == "output_rate" { "output_tokens_per_second" } else { "ms" }
}

/// Percentiles of a metric, toward its slow end: the high durations, the low rates.
#[must_use]
pub fn percentiles(metric: &str) -> [(String, f64); 4] {
    let all = match metric {
        "output_rate" => [("p50", 0.5), ("p10", 0.1), ("p5", 0.05), ("p1", 0.01)],
        _ => [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)],
    };
    all.map(|(name, q)| (format!("{name}_{}", unit(metric)), q))
}

/// What a use case promises, as the table of default targets in `docs/configuration.md` has it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Targets {
    /// For the first visible token, in milliseconds.
    pub ttft_p95_ms: Option<f64>,
    /// For the end, in milliseconds.
    pub e2e_p95_ms: Option<f64>,
    /// Per output token, in milliseconds.
    pub tpot_ms: Option<f64>,
    /// Longest time between two reads with text, in milliseconds.
    pub longest_gap_ms: Option<f64>,
    /// Share of streams without an error.
    pub availability: Option<f64>,
}

impl Targets {
    /// The defaults of a use case; none of one that is not in the table.
    #[must_use]
    pub fn of(use_case: &str) -> Self {
        let stall_ms = Some(10_000.0);
        let (ttft_p95_ms, e2e_p95_ms, tpot_ms, longest_gap_ms, availability) = match use_case {
            "chat" => (Some(2_000.0), None, 80.0, stall_ms, 0.995),
            "coding" => (Some(5_000.0), None, 60.0, stall_ms, 0.999),
            "batch_rag" => (None, Some(30_000.0), 20.0, None, 0.99),
            "extraction" => (Some(1_500.0), None, 1_000.0 / 30.0, stall_ms, 0.999),
            _ => return Self::default(),
        };
        let (tpot_ms, availability) = (Some(tpot_ms), Some(availability));
        Self { ttft_p95_ms, e2e_p95_ms, tpot_ms, longest_gap_ms, availability }
    }
}

/// Single reports, as `/v1/streams` gives them.
pub type Reports<'a> = Vec<&'a Value>;

/// How a stream ended.
#[must_use]
pub fn outcome(report: &Value) -> &str {
    report["outcome"].as_str().unwrap_or_default()
}

/// Neither ended by the user nor unseen.
#[must_use]
pub fn is_eligible(report: &Value) -> bool {
    !matches!(outcome(report), "aborted" | "abandoned" | "unobserved")
}

/// Eligible, and not complete.
#[must_use]
pub fn is_error(report: &Value) -> bool {
    is_eligible(report) && outcome(report) != "complete"
}

/// Complete without a defect that is a loss.
#[must_use]
pub fn is_intact(report: &Value) -> bool {
    const LOSSES: [&str; 6] =
        ["malformed", "invalid_utf8", "sequence_gap", "spliced", "html_in_stream", "oversize"];
    outcome(report) == "complete" && LOSSES.iter().all(|loss| report["defects"][loss].as_u64().is_none())
}

/// Whole, and within every target of its use case; what it does not say fails nothing.
#[must_use]
pub fn is_good(report: &Value) -> bool {
    let targets = Targets::of(&label(report, "use_case"));
    let within = |field: &str, target: Option<f64>| {
        report[field].as_f64().zip(target).is_none_or(|(value, target)| value <= target)
    };
    is_intact(report)
        && within("ttfv_ms", targets.ttft_p95_ms)
        && within("e2e_ms", targets.e2e_p95_ms)
        && within("tpot_ms", targets.tpot_ms)
        && within("longest_gap_ms", targets.longest_gap_ms)
}

/// Whether the stream kept its pace. `None` without a figure that has a target.
#[must_use]
pub fn keeps_pace(report: &Value, targets: Targets) -> Option<bool> {
    let figures = [("tpot_ms", targets.tpot_ms), ("longest_gap_ms", targets.longest_gap_ms)];
    let compared = figures.into_iter().filter_map(|(field, target)| Some(report[field].as_f64()? <= target?));
    compared.reduce(|one, other| one && other)
}

/// The value of a dimension as it is counted.
#[must_use]
pub fn label(report: &Value, dimension: &str) -> String {
    let said = match dimension {
        "model" => report["model"].as_str().or(report["response_model"].as_str()),
        "release" | "route" | "browser" | "browser_version" | "os" | "device" | "connection"
        | "visibility" => report["page"][dimension].as_str(),
        "protocol" => report["page_lifecycle"]["protocol"].as_str(),
        "server_source" => report["server"]["source"].as_str(),
        "prompt_size" => report["input_tokens"].as_u64().map(prompt_size),
        "cached" => cached(report),
        "reasoning" => reasoning(report),
        "stream_kind" => Some(kind(report)),
        other => match other.strip_prefix("attribute.") {
            Some(key) => report["attributes"][key].as_str(),
            None => report[other].as_str(),
        },
    };
    said.unwrap_or("unknown").to_owned()
}

/// Classes of `docs/long-prompts.md`.
fn prompt_size(input_tokens: u64) -> &'static str {
    let classes = [(256, "up to 256"), (1_024, "257 to 1k"), (4_096, "1k to 4k"), (16_384, "4k to 16k")];
    let class = classes.into_iter().find(|(most, _)| input_tokens <= *most);
    class.map_or(if input_tokens <= 65_536 { "16k to 64k" } else { "above 64k" }, |(_, name)| name)
}

/// Classes of `docs/query-parameters.md`. Neither is known without both counts.
fn cached(report: &Value) -> Option<&'static str> {
    let (cached, input) = (report["cached_tokens"].as_u64()?, report["input_tokens"].as_u64()?);
    let is_below = |hundredths: u64| 100 * cached < hundredths * input;
    (input > 0).then_some(match () {
        () if is_below(1) => "none",
        () if is_below(80) => "partly",
        () => "mostly",
    })
}

/// Whether the model reasoned: tokens of it were counted, or text that is not visible came first.
fn reasoning(report: &Value) -> Option<&'static str> {
    let (any, visible) = (report["ttft_ms"].as_f64(), report["ttfv_ms"].as_f64());
    if any.zip(visible).is_some_and(|(any, visible)| visible > any) {
        return Some("yes");
    }
    report["reasoning_tokens"].as_u64().map(|tokens| if tokens > 0 { "yes" } else { "no" })
}

/// Kinds of `docs/metrics.md`.
#[must_use]
pub fn kind(report: &Value) -> &'static str {
    match (report["background"].as_bool(), report["observed"].as_str()) {
        (Some(true), _) => "background",
        (_, Some("output")) => "output",
        _ => "answer",
    }
}

/// The values that a metric has in these reports, lowest first; those of gaps are the middles of their
/// buckets.
#[must_use]
pub fn values(reports: &[&Value], metric: &str) -> Vec<f64> {
    let mut values: Vec<f64> = match metric {
        "inter_chunk_latency" => reports.iter().flat_map(|report| gaps(&report["gaps"])).collect(),
        "server_ttft" => reports.iter().filter_map(|report| report["server"]["ttft_ms"].as_f64()).collect(),
        "abandoned_wait" => reports.iter().filter_map(|report| abandoned_wait(report)).collect(),
        "overhead" => reports.iter().filter_map(|report| overhead(report)).collect(),
        "generation" => reports.iter().filter_map(|report| generation(report)).collect(),
        "engine_generation" => reports.iter().filter_map(|report| engine_generation(report)).collect(),
        "server_queue" => reports.iter().filter_map(|report| report["server"]["queue_ms"].as_f64()).collect(),
        "output_rate" => reports.iter().filter_map(|report| output_rate(report)).collect(),
        field => reports.iter().filter_map(|report| report[format!("{field}_ms")].as_f64()).collect(),
    };
    values.sort_by(f64::total_cmp);
    values
}

/// Browser minus server; below zero counts as zero.
#[must_use]
pub fn overhead(report: &Value) -> Option<f64> {
    let (client, server) = (report["ttft_ms"].as_f64()?, report["server"]["ttft_ms"].as_f64()?);
    Some((client - server).max(0.0))
}

/// First to last generated text.
fn generation(report: &Value) -> Option<f64> {
    Some(report["e2e_ms"].as_f64()? - report["ttft_ms"].as_f64()?)
}

/// From the start of prefill to the last token, by the server, without its queue.
fn engine_generation(report: &Value) -> Option<f64> {
    let server = &report["server"];
    let (ttft, generation) = (server["ttft_ms"].as_f64()?, server["generation_ms"].as_f64()?);
    let after_queue = match server["starts_from"].as_str() {
        Some("prefill" | "scheduled") => ttft,
        _ => ttft - server["queue_ms"].as_f64()?,
    };
    (after_queue >= 0.0).then_some(after_queue + generation)
}

/// Output tokens per second after the first.
fn output_rate(report: &Value) -> Option<f64> {
    report["tpot_ms"].as_f64().filter(|ms| *ms > 0.0).map(|ms| 1_000.0 / ms)
}

/// Each counted value, as the geometric middle of its bucket: 32 buckets to a doubling.
fn gaps(histogram: &Value) -> Vec<f64> {
    let mut values = vec![0.0; histogram["zero"].as_u64().unwrap_or(0) as usize];
    let offset = histogram["offset"].as_i64().unwrap_or(0);
    for (at, count) in histogram["counts"].as_array().into_iter().flatten().enumerate() {
        let middle = 2f64.powf((offset as f64 + at as f64 + 0.5) / 32.0);
        values.extend(std::iter::repeat_n(middle, count.as_u64().unwrap_or(0) as usize));
    }
    values
}

/// How a user's wait for a token ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    /// With the token.
    Reached,
    /// The user ended it.
    Abandoned,
    /// The stream failed.
    Failed,
}

fn is_waited_for(metric: &str) -> bool {
    matches!(metric, "ttfv" | "ttft")
}

/// How long a user waited who left before the first visible token.
fn abandoned_wait(report: &Value) -> Option<f64> {
    let left = matches!(outcome(report), "aborted" | "abandoned") && report["ttfv_ms"].is_null();
    report["close_ms"].as_f64().filter(|_| left && !is_unread(report))
}

/// Chunks came, and what was in them is not known.
fn is_unread(report: &Value) -> bool {
    report["observed"] == "chunks" && report["chunks"] != 0
}

/// Every wait for the token of a metric: its bucket, and how it ended.
#[must_use]
pub fn waits(reports: &[&Value], metric: &str) -> Vec<(i64, WaitEnd)> {
    let wait = |report: &&Value| {
        let shown = report[format!("{metric}_ms")].as_f64();
        if let Some(shown_ms) = shown {
            return Some((bucket(shown_ms), WaitEnd::Reached));
        }
        let end = match outcome(report) {
            "aborted" | "abandoned" => WaitEnd::Abandoned,
            "complete" | "unobserved" => return None,
            _ => WaitEnd::Failed,
        };
        report["close_ms"].as_f64().filter(|_| !is_unread(report)).map(|ms| (bucket(ms), end))
    };
    reports.iter().filter_map(wait).collect()
}

/// The bucket of a wait, 32 to a doubling; all of zero are in one below.
fn bucket(ms: f64) -> i64 {
    if ms > 0.0 { (ms.log2() * 32.0).ceil() as i64 - 1 } else { i64::MIN }
}

/// One wait in the order of the estimate, and what of it is to come.
struct Step {
    bucket: i64,
    /// Streams that waited until then, this one among them.
    at_risk: usize,
    happened: bool,
    /// Share to whom it has happened, this one among them.
    share: f64,
    /// Greenwood's sum.
    greenwood: f64,
}

/// Kaplan and Meier's estimate of when `event` happens, one wait after the other; within a bucket the event
/// comes first.
fn estimate(waits: &[(i64, WaitEnd)], event: WaitEnd) -> Vec<Step> {
    let mut waits: Vec<_> = waits.iter().map(|(bucket, end)| (*bucket, *end != event)).collect();
    waits.sort_unstable();
    let (mut without, mut greenwood) = (1.0, 0.0);
    let of = waits.len();
    let step = |(at, (bucket, is_other)): (usize, (i64, bool))| {
        let at_risk = of - at;
        if !is_other {
            without *= (at_risk - 1) as f64 / at_risk as f64;
            greenwood += 1.0 / (at_risk as f64 * (at_risk - 1) as f64);
        }
        Step { bucket, at_risk, happened: !is_other, share: 1.0 - without, greenwood }
    };
    waits.into_iter().enumerate().map(step).collect()
}

/// A percentile over all who waited.
#[must_use]
pub fn adjusted(waits: &[(i64, WaitEnd)], q: f64) -> Option<f64> {
    let steps = estimate(waits, WaitEnd::Reached);
    let reached = steps.into_iter().find(|step| step.happened && step.share >= q - ROUNDING)?;
    Some(if reached.bucket == i64::MIN { 0.0 } else { 2f64.powf((reached.bucket as f64 + 0.5) / 32.0) })
}

/// What the curve of leaving is at the upper edge of a bucket: how many waited for longer, the share that left, its interval.
#[must_use]
pub fn left_by(waits: &[(i64, WaitEnd)], wait_ms: f64) -> (usize, f64, Option<(f64, f64)>) {
    let steps = estimate(waits, WaitEnd::Abandoned);
    // It is the upper edge of a bucket.
    let until = if wait_ms > 0.0 { (wait_ms.log2() * 32.0).round() as i64 - 1 } else { i64::MIN };
    let Some(step) = steps.iter().rfind(|step| step.bucket <= until) else {
        return (waits.len(), 0.0, None);
    };
    let without = 1.0 - step.share;
    let is_between = step.share > ROUNDING && without > ROUNDING;
    let interval = is_between.then(|| {
        let factor = (1.959_963_985 * step.greenwood.sqrt() / without.ln().abs()).exp();
        (1.0 - without.powf(1.0 / factor), 1.0 - without.powf(factor))
    });
    (step.at_risk - 1, step.share, interval)
}

/// What the rounding of products of thousands of quotients may amount to.
const ROUNDING: f64 = 1e-10;

/// What is wrong in an answer, by where it stands.
#[derive(Debug, Default)]
pub struct Wrong(Vec<String>);

impl Wrong {
    /// Fails with everything that is wrong.
    ///
    /// # Errors
    /// When anything is.
    pub fn none(self) -> anyhow::Result<()> {
        anyhow::ensure!(self.0.is_empty(), "{} figures are wrong:\n{}", self.0.len(), self.0.join("\n"));
        Ok(())
    }

    /// An exact figure. Absent and null are the same.
    pub fn exact(&mut self, place: &str, found: &Value, expected: impl Into<Value>) {
        let expected = expected.into();
        if *found != expected && found.as_f64().zip(expected.as_f64()).is_none_or(|(a, b)| a != b) {
            self.0.push(format!("{place} is {found}, by its definition {expected}"));
        }
    }

    /// A quotient, up to the rounding of a double.
    pub fn near(&mut self, place: &str, found: &Value, expected: Option<f64>) {
        let same = match (found.as_f64(), expected) {
            (None, None) => found.is_null(),
            (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
            _ => false,
        };
        if !same {
            self.0.push(format!("{place} is {found}, by its definition {expected:?}"));
        }
    }

    /// A percentile, which has a bound of its error.
    pub fn percentile(&mut self, place: &str, found: &Value, exact: Option<f64>) {
        let same = match (found.as_f64(), exact) {
            (None, None) => found.is_null(),
            (Some(found), Some(exact)) => (found - exact).abs() <= exact * RELATIVE_ERROR + 0.001,
            _ => false,
        };
        if !same {
            self.0.push(format!("{place} is {found}, by nearest rank {exact:?}"));
        }
    }

    /// `n` and the percentiles.
    pub fn percentiles(&mut self, place: &str, found: &Value, metric: &str, values: &[f64]) {
        self.exact(&format!("{place}.n"), &found["n"], values.len());
        for (name, q) in percentiles(metric) {
            self.percentile(&format!("{place}.{name}"), &found[&name], nearest_rank(values, q));
        }
    }

    /// Kaplan–Meier-adjusted percentiles; absent for a metric without waits.
    pub fn waits(&mut self, place: &str, found: &Value, reports: &[&Value], metric: &str) {
        if !is_waited_for(metric) {
            return self.exact(&format!("{place}.km_adjusted"), found, Value::Null);
        }
        let waits = waits(reports, metric);
        let of = |end: WaitEnd| waits.iter().filter(|(_, ended)| *ended == end).count();
        self.exact(&format!("{place}.abandoned"), &found["abandoned"], of(WaitEnd::Abandoned));
        self.exact(&format!("{place}.failed_before"), &found["failed_before"], of(WaitEnd::Failed));
        for (name, q) in percentiles(metric) {
            self.percentile(&format!("{place}.{name}"), &found[&name], adjusted(&waits, q));
        }
    }

    /// `good`, `total` and their quotient.
    pub fn ratio(&mut self, place: &str, found: &Value, good: usize, total: usize) {
        self.exact(&format!("{place}.good"), &found["good"], good);
        self.exact(&format!("{place}.total"), &found["total"], total);
        self.near(&format!("{place}.ratio"), &found["ratio"], share(good, total));
    }

    /// Counts by word, of which those of zero are left out.
    pub fn counts(&mut self, place: &str, found: &Value, expected: &BTreeMap<String, u64>) {
        self.exact(place, found, serde_json::json!(expected));
    }

    /// Says something that none of the others can.
    pub fn unless(&mut self, so: bool, what: impl FnOnce() -> String) {
        if !so {
            self.0.push(what());
        }
    }
}

/// The value at or below which a share `q` of the sorted values lies.
#[must_use]
pub fn nearest_rank(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// How many of the reports are so.
#[must_use]
pub fn count(reports: &[&Value], is: impl Fn(&Value) -> bool) -> usize {
    reports.iter().filter(|report| is(report)).count()
}

/// A quotient; none of nothing.
#[must_use]
pub fn share(part: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

/// Streams by a word of theirs.
#[must_use]
pub fn by_word<'a>(reports: &[&'a Value], words: impl Fn(&'a Value) -> Vec<String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in reports.iter().flat_map(|report| words(report)) {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

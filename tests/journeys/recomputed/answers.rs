//! Each route's answer beside what follows from the reports.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;
use tests::Collector;
use tests::recomputed::{
    METRICS, Reports, WaitEnd, Wrong, by_word, count, is_eligible, is_error, is_good, is_intact, kind, label,
    left_by, outcome, overhead, percentiles, share, unit, values, waits,
};

pub(super) const MINUTE_MS: i64 = 60_000;

/// Everything at once, so that one run tells all that is wrong.
pub(super) async fn check_all(collector: &Collector, reports: &[Value], sites: &[&str]) -> Result<()> {
    let mut check = Check { collector, reports, wrong: Wrong::default() };
    let arrived = |report: &Value| report["received_ms"].as_i64().unwrap_or_default();
    let (first, last) = (
        reports.iter().map(arrived).min().context("there are reports")?,
        reports.iter().map(arrived).max().context("there are reports")?,
    );
    let (from, to) = (first.div_euclid(MINUTE_MS) * MINUTE_MS, (last.div_euclid(MINUTE_MS) + 1) * MINUTE_MS);
    let middle = (from + (to - from) / 2).div_euclid(MINUTE_MS) * MINUTE_MS;
    let mut filters = vec![Vec::new()];
    filters.extend(sites.iter().map(|site| vec![("site", (*site).to_owned())]));
    for dimension in ["use_case", "provider", "model"] {
        let known = by_word(&reports.iter().collect::<Vec<_>>(), |report| vec![label(report, dimension)]);
        filters.extend(known.into_keys().map(|value| vec![(dimension, value)]));
    }
    filters.push(vec![("site", sites[0].to_owned()), ("use_case", "chat".to_owned())]);
    filters.push(vec![("model", "never heard of".to_owned())]);
    filters.push(vec![("use_case", "chat".to_owned()), ("use_case", "coding".to_owned())]);
    filters.push(vec![("use_case", "!chat".to_owned()), ("use_case", "!coding".to_owned())]);
    filters.push(vec![("country", "!unknown".to_owned()), ("use_case", "chat".to_owned())]);
    filters.extend(of_single_streams(reports));
    for filter in &filters {
        check.summary(&Asked { filter, from: middle, to }).await?;
        check.summary(&Asked { filter, from, to }).await?;
    }
    let (everything, one_site) =
        (Asked { filter: &filters[0], from, to }, Asked { filter: &filters[1], from, to });
    let not_one_browser = [("browser", "!firefox".to_owned()), ("outcome", "!timeout".to_owned())];
    for asked in [&everything, &one_site, &Asked { filter: &not_one_browser, from, to }] {
        for metric in METRICS {
            check.histogram(asked, metric).await?;
            check.over_time(asked, metric).await?;
        }
        for dimension in ["site", "use_case", "provider", "model", "country", "response_model"]
            .into_iter()
            .chain(STREAM_DIMENSIONS)
            .chain(["outcome", "defect"])
        {
            check.breakdown(asked, &[dimension]).await?;
        }
        let pairs = [
            ["model", "provider"],
            ["release", "browser"],
            ["use_case", "prompt_size"],
            ["defect", "outcome"],
            ["os", "attribute.plan"],
            ["cached", "reasoning"],
            [KIND, "dialect"],
        ];
        for pair in pairs {
            check.breakdown(asked, &pair).await?;
        }
        check.comparison(asked).await?;
        for wait in ["ttfv", "ttft"] {
            check.leaving(asked, wait).await?;
        }
    }
    // From the middle of a step on.
    let half = Asked { filter: &filters[0], from: middle, to };
    check.comparison(&half).await?;
    check.over_time(&half, "ttfv").await?;
    for use_case in ["chat", "coding", "extraction", "batch_rag"] {
        check.budgets(use_case).await?;
    }
    check.prometheus().await?;
    check.wrong.none()
}

/// Each value of each fact that only single streams tell, and some combinations of them.
fn of_single_streams(reports: &[Value]) -> Vec<Vec<(&'static str, String)>> {
    let all: Vec<_> = reports.iter().collect();
    let dimensions = STREAM_DIMENSIONS.into_iter().chain(["outcome", "defect"]);
    let known = dimensions.flat_map(|dimension| {
        let words = by_word(&all, |report| labels(report, dimension));
        words.into_keys().map(move |value| (dimension, value))
    });
    let known: Vec<_> = known.collect();
    let mut filters: Vec<_> = known.iter().map(|one| vec![one.clone()]).collect();
    for at in 0..COMBINATIONS {
        let (one, other) = (&known[at * 7 % known.len()], &known[(at * 11 + 5) % known.len()]);
        let excluded = (other.0, format!("!{}", other.1));
        if one.0 != other.0 {
            // A question is about one kind.
            let is_excluded = at % 2 == 0 && other.0 != KIND;
            filters.push(vec![one.clone(), if is_excluded { excluded } else { other.clone() }]);
        }
    }
    filters
}

/// Besides outcome and defect, all of single streams, and two attributes of the app.
const STREAM_DIMENSIONS: [&str; 19] = [
    "release",
    "variant",
    "route",
    "browser",
    "browser_version",
    "os",
    "device",
    "connection",
    "protocol",
    "visibility",
    "dialect",
    "prompt_size",
    "cached",
    "reasoning",
    KIND,
    "finish_reason",
    "server_source",
    "attribute.plan",
    "attribute.team",
];
const KIND: &str = "stream_kind";
const COMBINATIONS: usize = 30;

/// The values of a report: it may have several defects.
fn labels(report: &Value, dimension: &str) -> Vec<String> {
    match dimension {
        "defect" if defects(report).is_empty() => vec!["none".to_owned()],
        "defect" => defects(report),
        _ => vec![label(report, dimension)],
    }
}

/// A period and a filter.
pub(super) struct Asked<'a> {
    pub(super) filter: &'a [(&'static str, String)],
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Asked<'_> {
    fn query(&self, more: &str) -> String {
        let filter: String = self
            .filter
            .iter()
            .map(|(name, value)| {
                let value: String = value.bytes().map(|byte| format!("%{byte:02x}")).collect();
                format!("&{name}={value}")
            })
            .collect();
        format!("?from={}&to={}{filter}{more}", self.from, self.to)
    }
}

/// Whether a filter selects a report by one dimension: any of several values, or all but those after `!`.
fn is_selected(report: &Value, dimension: &str, filter: &[(&str, String)]) -> bool {
    let labels = labels(report, dimension);
    let values: Vec<_> =
        filter.iter().filter(|(name, _)| *name == dimension).map(|(_, value)| value).collect();
    let excluded: Vec<_> = values.iter().filter_map(|value| value.strip_prefix('!')).collect();
    if excluded.is_empty() {
        values.iter().any(|value| labels.contains(value))
    } else {
        !labels.iter().any(|label| excluded.contains(&&**label))
    }
}

pub(super) struct Check<'a> {
    pub(super) collector: &'a Collector,
    pub(super) reports: &'a [Value],
    pub(super) wrong: Wrong,
}

impl<'a> Check<'a> {
    /// Those that the filter is about and that arrived in between: answers, unless it names another kind.
    pub(super) fn within(&self, asked: &Asked<'_>, from: i64, to: i64) -> Reports<'a> {
        let names_kind = asked.filter.iter().any(|(name, _)| *name == KIND);
        let mut reports = self.of_every_kind(asked, from, to);
        reports.retain(|report| names_kind || kind(report) == "answer");
        reports
    }

    fn of_every_kind(&self, asked: &Asked<'_>, from: i64, to: i64) -> Reports<'a> {
        let arrived =
            |report: &&Value| (from..to).contains(&report["received_ms"].as_i64().unwrap_or_default());
        let is =
            |report: &&Value| asked.filter.iter().all(|(name, _)| is_selected(report, name, asked.filter));
        self.reports.iter().filter(arrived).filter(is).collect()
    }

    async fn summary(&mut self, asked: &Asked<'_>) -> Result<()> {
        let path = format!("/v1/summary{}", asked.query(""));
        let answer = self.collector.get(&path).await?;
        let reports = self.within(asked, asked.from, asked.to);
        let wrong = &mut self.wrong;
        let at = |name: &str| format!("{path}: {name}");
        let eligible = count(&reports, is_eligible);
        wrong.exact(&at("streams"), &answer["streams"], reports.len());
        let outcomes = by_word(&reports, |report| vec![outcome(report).to_owned()]);
        wrong.counts(&at("outcomes"), &answer["outcomes"], &outcomes);
        wrong.counts(&at("defects"), &answer["defects"], &by_word(&reports, defects));
        for metric in ["ttfv", "ttft", "e2e", "generation", "tpot", "output_rate", "inter_chunk_latency"] {
            wrong.percentiles(&at(metric), &answer[metric], metric, &values(&reports, metric));
            wrong.waits(&at(metric), &answer[metric]["km_adjusted"], &reports, metric);
        }
        wrong.ratio(&at("integrity"), &answer["integrity"], count(&reports, is_intact), eligible);
        let complete = count(&reports, |report| outcome(report) == "complete");
        wrong.ratio(&at("availability"), &answer["availability"], complete, eligible);
        let good = count(&reports, is_good);
        wrong.ratio(&at("goodput"), &answer["goodput"], good, eligible);
        let seconds = (asked.to - asked.from) as f64 / 1e3;
        // A period that has not passed yet is as long as what has.
        let per_second = answer["goodput"]["per_second"].as_f64().unwrap_or(-1.0);
        wrong.unless(per_second >= good as f64 / seconds - 1e-12, || {
            format!("{path}: {good} good streams within {seconds} s are {per_second} per second")
        });
        let errors = count(&reports, is_error);
        wrong.exact(&at("errors.count"), &answer["errors"]["count"], errors);
        wrong.near(&at("errors.ratio"), &answer["errors"]["ratio"], share(errors, eligible));
        for field in ["input_tokens", "output_tokens"] {
            wrong.exact(&at(field), &answer[field], tokens(&reports, field));
            let rate = answer["throughput"][format!("{field}_per_second")].as_f64();
            let rate_of = |tokens: u64| tokens as f64 / answer["streams"].as_f64().unwrap_or(-1.0);
            let requests = answer["throughput"]["requests_per_second"].as_f64().unwrap_or(-1.0);
            let per_request = Value::from(rate.map(|rate| rate / requests));
            let expected = tokens(&reports, field).as_u64().map(rate_of);
            wrong.near(&at(&format!("throughput of {field}")), &per_request, expected);
        }
        let with_usage = count(&reports, has_usage);
        wrong.ratio(&at("with_usage"), &answer["with_usage"], with_usage, reports.len());
        let before = self.within(asked, asked.from - (asked.to - asked.from), asked.from);
        let (wrong, previous) = (&mut self.wrong, &answer["previous"]);
        wrong.exact(&at("previous.streams"), &previous["streams"], before.len());
        for metric in ["ttfv", "output_rate"] {
            let place = at(&format!("previous.{metric}"));
            wrong.percentiles(&place, &previous[metric], metric, &values(&before, metric));
        }
        wrong.waits(&at("previous.ttfv"), &previous["ttfv"]["km_adjusted"], &before, "ttfv");
        let eligible = count(&before, is_eligible);
        wrong.ratio(&at("previous.integrity"), &previous["integrity"], count(&before, is_intact), eligible);
        wrong.ratio(&at("previous.goodput"), &previous["goodput"], count(&before, is_good), eligible);
        wrong.exact(&at("previous.errors"), &previous["errors"]["count"], count(&before, is_error));
        Ok(())
    }

    async fn histogram(&mut self, asked: &Asked<'_>, metric: &str) -> Result<()> {
        let path = format!("/v1/histogram{}", asked.query(&format!("&metric={metric}")));
        let answer = self.collector.get(&path).await?;
        let reports = self.within(asked, asked.from, asked.to);
        let values = values(&reports, metric);
        self.wrong.percentiles(&path, &answer, metric, &values);
        self.wrong.waits(&path, &answer["km_adjusted"], &reports, metric);
        self.buckets(&path, &answer["buckets"], metric, &values);
        let [lower, upper] = edges(metric);
        self.table(&path, &answer["buckets"], &[&lower, &upper, "count"]).await
    }

    /// Each holds what lies above its lower edge and not above its upper; nothing lies outside.
    fn buckets(&mut self, path: &str, buckets: &Value, metric: &str, values: &[f64]) {
        let mut held = 0;
        let names = edges(metric);
        for bucket in buckets.as_array().into_iter().flatten() {
            let edge = |name: &str| bucket[name].as_f64().unwrap_or(f64::NAN);
            let [lower, upper] = names.each_ref().map(|name| edge(name));
            let inside = |value: &&f64| {
                if upper == 0.0 { **value == 0.0 } else { **value > lower && **value <= upper }
            };
            let expected = values.iter().filter(inside).count();
            held += expected;
            self.wrong.exact(&format!("{path}: bucket {lower} to {upper}"), &bucket["count"], expected);
        }
        let all = values.len();
        self.wrong.unless(held == all, || format!("{path}: {held} of {all} values lie in a bucket"));
    }

    /// By hours, and the heat map over the same.
    async fn over_time(&mut self, asked: &Asked<'_>, metric: &str) -> Result<()> {
        const STEP_MS: i64 = 3_600_000;
        let query = asked.query(&format!("&metric={metric}&step={}", STEP_MS / 1000));
        let series = self.collector.get(&format!("/v1/timeseries{query}")).await?;
        let heat = self.collector.get(&format!("/v1/heatmap{query}")).await?;
        let points = series["points"].as_array().context("points")?;
        let columns = heat["points"].as_array().context("points")?;
        let mut seen = 0;
        for (point, column) in points.iter().zip(columns) {
            let t = point["timestamp_ms"].as_i64().context("a time")?;
            let place = format!("/v1/timeseries{query} at {t}");
            let reports = self.within(asked, t.max(asked.from), (t + STEP_MS).min(asked.to));
            seen += reports.len();
            let values = values(&reports, metric);
            self.wrong.percentiles(&place, point, metric, &values);
            self.wrong.waits(&place, &point["km_adjusted"], &reports, metric);
            self.wrong.exact(&format!("{place}: streams"), &point["streams"], reports.len());
            self.wrong.exact(&format!("{place}: errors"), &point["errors"], count(&reports, is_error));
            let with_usage = count(&reports, has_usage);
            self.wrong.exact(&format!("{place}: with_usage"), &point["with_usage"], with_usage);
            let per_second = point["requests_per_second"].as_f64().context("a rate")?;
            let in_flight = per_second * mean_seconds(&reports);
            // It is rounded to three decimals, and each stream to a millisecond.
            let tolerance = 0.000_501 + per_second * 0.000_5;
            let found = &point["in_flight"];
            let same = found.as_f64().is_some_and(|found| (found - in_flight).abs() <= tolerance);
            self.wrong.unless(same, || format!("{place}: in_flight is {found}, by Little's law {in_flight}"));
            for field in ["input_tokens", "output_tokens"] {
                let is_known = !point[format!("{field}_per_second")].is_null();
                let expected = !tokens(&reports, field).is_null();
                self.wrong.unless(is_known == expected, || format!("{place}: {field} known: {is_known}"));
            }
            self.wrong.exact(&format!("/v1/heatmap{query} at {t}: n"), &column["n"], values.len());
            let counts = column["counts"].as_array().context("counts")?;
            let edges = heat["buckets"].as_array().context("buckets")?;
            let held: Value = edges
                .iter()
                .zip(counts)
                .map(|(edges, count)| {
                    let mut bucket = edges.clone();
                    bucket["count"] = count.clone();
                    bucket
                })
                .collect();
            self.buckets(&format!("/v1/heatmap{query} at {t}"), &held, metric, &values);
        }
        let all = self.within(asked, asked.from, asked.to).len();
        self.wrong.unless(seen == all, || format!("/v1/timeseries{query} has {seen} of {all} streams"));
        let percentiles = percentiles(metric).map(|(name, _)| name);
        let adjusted = ["p50_ms", "p90_ms", "p95_ms", "p99_ms", "abandoned", "failed_before"];
        let adjusted = adjusted.map(|name| format!("km_adjusted.{name}"));
        let columns: Vec<_> = ["timestamp_ms", "n"]
            .into_iter()
            .chain(percentiles.iter().map(String::as_str))
            .chain(["streams", "errors"])
            .chain(adjusted.iter().map(String::as_str))
            .chain([
                "requests_per_second",
                "input_tokens_per_second",
                "output_tokens_per_second",
                "with_usage",
                "in_flight",
            ])
            .collect();
        self.table(&format!("/v1/timeseries{query}"), &series["points"], &columns).await
    }

    /// The curve of leaving: at each of its waits, and that nobody is missing from it.
    async fn leaving(&mut self, asked: &Asked<'_>, metric: &str) -> Result<()> {
        let path = format!("/v1/abandonment{}", asked.query(&format!("&metric={metric}")));
        let answer = self.collector.get(&path).await?;
        let waits = waits(&self.within(asked, asked.from, asked.to), metric);
        let wrong = &mut self.wrong;
        for (name, end) in [
            ("reached", WaitEnd::Reached),
            ("abandoned", WaitEnd::Abandoned),
            ("failed_before", WaitEnd::Failed),
        ] {
            let count = waits.iter().filter(|(_, ended)| *ended == end).count();
            wrong.exact(&format!("{path}: {name}"), &answer[name], count);
        }
        wrong.exact(&format!("{path}: at_risk"), &answer["at_risk"], waits.len());
        let points = answer["points"].as_array().context("points")?;
        for point in points {
            let wait_ms = point["wait_ms"].as_f64().context("a wait")?;
            let place = format!("{path} at {wait_ms}");
            let (at_risk, share, interval) = left_by(&waits, wait_ms);
            wrong.exact(&format!("{place}: at_risk"), &point["at_risk"], at_risk);
            wrong.near(&format!("{place}: share"), &point["share"], Some(share));
            let (lower, upper) = interval.unzip();
            wrong.near(&format!("{place}: lower"), &point["lower"], lower);
            wrong.near(&format!("{place}: upper"), &point["upper"], upper);
        }
        let nobody_waits = points.last().is_none_or(|last| last["at_risk"] == 0);
        wrong.unless(nobody_waits, || format!("{path} ends before all waits have ended"));
        self.table(&path, &answer["points"], &["wait_ms", "at_risk", "share", "lower", "upper"]).await
    }

    /// By one dimension or two.
    async fn breakdown(&mut self, asked: &Asked<'_>, dimensions: &[&str]) -> Result<()> {
        let by: String = dimensions.iter().map(|dimension| format!("&by={dimension}")).collect();
        let path = format!("/v1/breakdown{}", asked.query(&format!("{by}&limit=500")));
        let answer = self.collector.get(&path).await?;
        let reports = match dimensions.contains(&KIND) {
            true => self.of_every_kind(asked, asked.from, asked.to),
            false => self.within(asked, asked.from, asked.to),
        };
        let bad = |reports: &[&Value]| count(reports, |report| is_eligible(report) && !is_good(report));
        let mut by_value = BTreeMap::<Vec<String>, Vec<&Value>>::new();
        for report in &reports {
            // A stream is in the group of each of its defects.
            let of_dimensions = dimensions.iter().map(|dimension| labels(report, dimension));
            let groups = of_dimensions.fold(vec![Vec::new()], |groups: Vec<Vec<String>>, labels| {
                let with =
                    |group: &Vec<String>, label: &String| [&group[..], std::slice::from_ref(label)].concat();
                groups.iter().flat_map(|group| labels.iter().map(move |label| with(group, label))).collect()
            });
            for values in groups {
                by_value.entry(values).or_default().push(report);
            }
        }
        let groups = answer["groups"].as_array().context("groups")?;
        self.wrong.exact(&format!("{path}: groups"), &groups.len().into(), by_value.len());
        for group in groups {
            let values_of: Vec<_> = [&group["value"], &group["and_value"]]
                .into_iter()
                .filter_map(|value| value.as_str().map(str::to_owned))
                .collect();
            let of_it = by_value.remove(&values_of).unwrap_or_default();
            let place = format!("{path}: {values_of:?}");
            let (wrong, eligible) = (&mut self.wrong, count(&of_it, is_eligible));
            wrong.exact(&format!("{place}: streams"), &group["streams"], of_it.len());
            wrong.near(&format!("{place}: share"), &group["share"], share(of_it.len(), reports.len()));
            wrong.percentiles(&place, group, "ttfv", &values(&of_it, "ttfv"));
            wrong.waits(&place, &group["km_adjusted"], &of_it, "ttfv");
            wrong.ratio(
                &format!("{place}: integrity"),
                &group["integrity"],
                count(&of_it, is_intact),
                eligible,
            );
            wrong.ratio(&format!("{place}: goodput"), &group["goodput"], count(&of_it, is_good), eligible);
            wrong.exact(&format!("{place}: errors"), &group["errors"], count(&of_it, is_error));
            let excess = share(bad(&of_it), bad(&reports)).zip(share(eligible, count(&reports, is_eligible)));
            wrong.near(
                &format!("{place}: excess_share"),
                &group["excess_share"],
                excess.map(|(bad, all)| bad - all),
            );
        }
        Ok(())
    }

    async fn comparison(&mut self, asked: &Asked<'_>) -> Result<()> {
        let path = format!("/v1/compare{}", asked.query(""));
        let answer = self.collector.get(&path).await?;
        let reports = self.within(asked, asked.from, asked.to);
        let matched: Reports<'_> =
            reports.iter().copied().filter(|report| overhead(report).is_some()).collect();
        let wrong = &mut self.wrong;
        wrong.exact(&format!("{path}: streams"), &answer["streams"], reports.len());
        wrong.exact(&format!("{path}: matched"), &answer["matched"], matched.len());
        for (side, metric) in [("client", "ttft"), ("server", "server_ttft"), ("overhead", "overhead")] {
            let place = format!("{path}: {side}");
            wrong.percentiles(&place, &answer[side], metric, &values(&matched, metric));
        }
        let source = |report: &Value| {
            let said = report["server"]["source"].as_str().unwrap_or_default();
            vec![if SOURCES.contains(&said) { said } else { "other" }.to_owned()]
        };
        wrong.counts(&format!("{path}: sources"), &answer["sources"], &by_word(&matched, source));
        Ok(())
    }

    /// The same answer as a table: cell by cell what the JSON has.
    async fn table(&mut self, path: &str, rows: &Value, columns: &[&str]) -> Result<()> {
        let text = self.collector.text(&format!("{path}&format=csv")).await?;
        let named =
            |column: &&str| column.replace("km_adjusted.p", "km_adjusted_p").replace("km_adjusted.", "");
        let mut expected = vec![columns.iter().map(named).collect::<Vec<_>>().join(",")];
        for row in rows.as_array().context("rows")? {
            let cell = |column: &&str| match column.split('.').fold(row, |row, name| &row[name]) {
                Value::Null => String::new(),
                // In JSON a whole number may be written with a decimal.
                number => number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string()),
            };
            expected.push(columns.iter().map(cell).collect::<Vec<_>>().join(","));
        }
        let found: Vec<_> = text.split("\r\n").filter(|line| !line.is_empty()).collect();
        let other =
            found.iter().zip(&expected).find(|(found, expected)| !same_cells(columns, found, expected));
        let same = found.len() == expected.len() && other.is_none();
        self.wrong.unless(same, || {
            format!("{path} as a table has {} lines for {}: {other:?}", found.len(), expected.len())
        });
        Ok(())
    }
}

/// The sum of a field; null where no report has it.
fn tokens(reports: &[&Value], field: &str) -> Value {
    let known: Vec<_> = reports.iter().filter_map(|report| report[field].as_u64()).collect();
    (!known.is_empty()).then(|| known.iter().sum::<u64>()).into()
}

fn has_usage(report: &Value) -> bool {
    report["output_tokens"].is_u64()
}

/// Names of a bucket's edges.
fn edges(metric: &str) -> [String; 2] {
    ["lower", "upper"].map(|edge| format!("{edge}_{}", unit(metric)))
}

/// Compares numbers up to what reading JSON may lose of them. A rate of the newest step falls while the step lasts, so
/// two answers differ by the time between them.
fn same_cells(columns: &[&str], found: &str, expected: &str) -> bool {
    let same = |((found, expected), column): ((&str, &str), &&str)| {
        let numbers = found.parse::<f64>().ok().zip(expected.parse::<f64>().ok());
        let tolerance = if RATES.contains(column) { 0.01 } else { 1e-14 };
        numbers.map_or(found == expected, |(found, expected)| {
            (found - expected).abs() <= expected.abs() * tolerance
        })
    };
    found.split(',').count() == expected.split(',').count()
        && found.split(',').zip(expected.split(',')).zip(columns).all(same)
}

const RATES: [&str; 4] =
    ["requests_per_second", "input_tokens_per_second", "output_tokens_per_second", "in_flight"];

fn defects(report: &Value) -> Vec<String> {
    report["defects"].as_object().into_iter().flatten().map(|(defect, _)| defect.clone()).collect()
}

/// The sources of `docs/phases.md`.
const SOURCES: [&str; 8] =
    ["comment", "llama_cpp", "ollama", "vllm", "groq", "cerebras", "lobe_chat", "ag_ui"];

/// Mean time from the request to the end or to the last moment that is known; of a long stream, the last quarter of an
/// hour. 0 without streams.
fn mean_seconds(reports: &[&Value]) -> f64 {
    let of = |report: &&Value| {
        let moments =
            ["headers_ms", "first_byte_ms", "first_event_ms", "ttft_ms", "ttfv_ms", "e2e_ms", "close_ms"];
        let last = moments.into_iter().filter_map(|name| report[name].as_f64()).fold(0.0, f64::max);
        let minute_ms = report["received_ms"].as_i64().unwrap_or_default().rem_euclid(60_000) as f64;
        last.min(minute_ms + 15.0 * 60_000.0) / 1e3
    };
    reports.iter().map(of).sum::<f64>() / (reports.len().max(1) as f64)
}

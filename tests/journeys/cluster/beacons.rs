//! What both sides of the comparison are sent: the number of a load comes in, its beacons go out, the same each time.

use std::borrow::Cow;

use anyhow::Result;
use beacon::{Attributes, Batch, Outcome, Page, PageLifecycle, Protocol, ServerTiming, StreamReport};
use tests::report;

/// Of a load, in the order of revisions: every stream begins, most end, some are heard of after that.
pub(super) fn bodies(load: u64) -> Result<Vec<String>> {
    let numbers = || load * 1_000_000..load * 1_000_000 + STREAMS;
    let begin = numbers().map(begun);
    let end = numbers().filter(|number| number % 11 > 0).map(ended);
    let revised = numbers().filter(|number| number % 5 == 1).map(|number| {
        let report = ended(number);
        let slower = |ms: Option<f64>| ms.map(|ms| ms * 2.0);
        StreamReport { rev: 2, ttft_ms: slower(report.ttft_ms), ttfv_ms: slower(report.ttfv_ms), ..report }
    });
    let reports: Vec<_> = begin.chain(end).chain(revised).collect();
    let batches = reports.chunks(10).map(|reports| Batch { reports: reports.to_vec() });
    Ok(batches.map(|batch| serde_json::to_string(&batch)).collect::<Result<_, _>>()?)
}

fn begun(number: u64) -> StreamReport {
    StreamReport {
        open: true,
        outcome: Outcome::Abandoned,
        ttft_ms: Some(300.0 + (number % 97) as f64),
        ..StreamReport::new(format!("{number:032x}"))
    }
    .of_model(number)
}

pub(super) fn ended(number: u64) -> StreamReport {
    let ttft_ms = 50.0 + 1.07_f64.powi((number * 37 % 160) as i32);
    let server =
        ServerTiming { source: "vllm".into(), ttft_ms: Some(ttft_ms * 0.75), ..ServerTiming::default() };
    // Some saw nothing: they left, or their stream failed.
    let shown = |ms: f64| Some(ms).filter(|_| !number.is_multiple_of(7));
    let outcomes = [Outcome::Complete, Outcome::Truncated, Outcome::Aborted, Outcome::ProviderError];
    let mut gaps = beacon::Histogram::default();
    gaps.record(20.0 + (number % 13) as f64);
    StreamReport {
        rev: 1,
        outcome: outcomes[(number / 6 % 4) as usize],
        ttft_ms: shown(ttft_ms),
        ttfv_ms: shown(ttft_ms * 1.5),
        e2e_ms: shown(ttft_ms * 4.0 + 100.0),
        close_ms: Some(ttft_ms * 4.0 + 101.0),
        gaps: Some(gaps),
        server: number.is_multiple_of(3).then_some(server),
        page: (!number.is_multiple_of(8)).then(|| page(number)),
        page_lifecycle: (!number.is_multiple_of(3)).then(|| lifecycle(number)),
        variant: one_of(&[Some("a"), Some("it's \\ b"), None], number / 2),
        finish_reason: one_of(&[Some("stop"), Some("length"), None], number / 3),
        attributes: attributes(number),
        input_tokens: Some(number * 97 % 3_000),
        cached_tokens: number.is_multiple_of(2).then(|| number * 97 % 3_000 / 2),
        reasoning_tokens: number.is_multiple_of(4).then_some(number % 3),
        ..report(number)
    }
    .of_model(number)
}

/// Each value leaves another remainder, so that no two dimensions select the same streams.
fn page(number: u64) -> Page {
    Page {
        browser: one_of(&[Some("chrome"), Some("firefox"), Some("safari"), None], number / 3),
        browser_version: one_of(&[Some("chrome 156"), Some("firefox 153"), None], number / 5),
        os: one_of(&[Some("windows"), Some("android"), None], number / 7),
        device: one_of(&[Some("desktop"), Some("mobile"), None], number / 11),
        connection: one_of(&[Some("4g"), Some("slow-2g"), None, None], number / 13),
        visibility: one_of(&[Some("visible"), Some("mixed"), None], number / 17),
        release: one_of(&[Some("v41"), Some("v42"), Some("=\"v\" \\N"), None], number / 19),
        route: one_of(&[Some("/chat/:id"), Some("/search"), None], number / 23),
    }
}

fn lifecycle(number: u64) -> PageLifecycle {
    let protocols = [Some(Protocol::Http1), Some(Protocol::Http2), Some(Protocol::Http3), None];
    PageLifecycle { protocol: protocols[(number / 29 % 4) as usize], ..PageLifecycle::default() }
}

/// The configuration names `plan` alone, so the collector drops the other.
fn attributes(number: u64) -> Attributes {
    let plans = ["free", "pro", ""];
    let plan = plans[(number / 31 % 3) as usize];
    let all = [("plan", plan), ("secret", "x")];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

fn one_of(words: &[Option<&'static str>], number: u64) -> Option<Cow<'static, str>> {
    words[(number % words.len() as u64) as usize].map(Cow::Borrowed)
}

trait OfModel {
    fn of_model(self, number: u64) -> Self;
}

impl OfModel for StreamReport {
    fn of_model(self, number: u64) -> Self {
        Self {
            model: Some(format!("m{}", number % MODELS).into()),
            provider: Some(format!("p{}", number % 2).into()),
            use_case: Some(if number.is_multiple_of(4) { "coding" } else { "chat" }.into()),
            ..self
        }
    }
}

const STREAMS: u64 = 300;
pub(super) const MODELS: u64 = 6;

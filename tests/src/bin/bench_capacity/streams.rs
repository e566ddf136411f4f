//! Streams as pages of a chat product would report them: several models and use cases, every outcome, times
//! spread as real ones are. The same numbers give the same streams.

use beacon::{
    Defect, Histogram, NetworkTiming, Outcome, Page, PageLifecycle, Protocol, ServerTiming, StreamReport,
};

/// What a page says of one stream: while it runs, unless it ends within a second of its first text, and when
/// it has ended.
pub(crate) struct Stream {
    pub(crate) open: Option<StreamReport>,
    pub(crate) ended: StreamReport,
}

/// So many different streams; those who send more use them again under other ids.
pub(crate) fn streams(count: usize) -> Vec<Stream> {
    let mut random = Random(0x6c6c_6d2d_7275_6d00);
    (0..count).map(|_| stream(&mut random)).collect()
}

struct Model {
    provider: &'static str,
    name: &'static str,
    dialect: &'static str,
    /// Median time to first token.
    ttft_ms: f64,
    /// Median time spent thinking after it, before the answer's first text.
    thinking_ms: f64,
    /// Median time between reads.
    gap_ms: f64,
    /// The server tells its own time to first token.
    tells: bool,
}

const fn model(
    provider: &'static str,
    name: &'static str,
    dialect: &'static str,
    times_ms: [f64; 3],
    tells: bool,
) -> Model {
    let [ttft_ms, thinking_ms, gap_ms] = times_ms;
    Model { provider, name, dialect, ttft_ms, thinking_ms, gap_ms, tells }
}

/// With how often each is asked, of a hundred.
const MODELS: [(Model, u32); 10] = [
    (model("openai", "gpt-5", "openai_chat", [900.0, 2_500.0, 22.0], false), 26),
    (model("openai", "gpt-5-mini", "openai_responses", [450.0, 0.0, 14.0], false), 18),
    (model("openai", "o4", "openai_responses", [1_500.0, 9_000.0, 25.0], false), 5),
    (model("anthropic", "claude-sonnet-5", "anthropic", [1_100.0, 0.0, 28.0], false), 16),
    (model("anthropic", "claude-haiku-5", "anthropic", [480.0, 0.0, 12.0], false), 8),
    (model("gcp.gemini", "gemini-3-pro", "gemini", [1_800.0, 4_000.0, 60.0], false), 6),
    (model("gcp.gemini", "gemini-3-flash", "gemini", [420.0, 0.0, 45.0], false), 8),
    (model("groq", "llama-4-70b", "openai_chat", [160.0, 0.0, 4.0], true), 5),
    (model("self_hosted", "qwen3-32b", "openai_chat", [380.0, 0.0, 30.0], true), 5),
    (model("self_hosted", "gpt-oss-20b", "openai_chat", [290.0, 0.0, 18.0], true), 3),
];

const USE_CASES: [(&str, u32); 3] = [("chat", 70), ("search", 21), ("coding", 9)];

const OUTCOMES: [(Outcome, u32); 8] = [
    (Outcome::Complete, 910),
    (Outcome::Aborted, 38),
    (Outcome::Abandoned, 22),
    (Outcome::Truncated, 9),
    (Outcome::ProviderError, 8),
    (Outcome::HttpError, 7),
    (Outcome::NetworkError, 4),
    (Outcome::Timeout, 2),
];

const DEFECTS: [(Option<Defect>, u32); 5] = [
    (None, 955),
    (Some(Defect::Stall), 30),
    (Some(Defect::LateClose), 8),
    (Some(Defect::UsageMismatch), 5),
    (Some(Defect::Malformed), 2),
];

const BROWSERS: [((&str, &str, &str), u32); 6] = [
    (("chrome", "windows", "desktop"), 38),
    (("safari", "ios", "mobile"), 20),
    (("chrome", "android", "mobile"), 18),
    (("safari", "macos", "desktop"), 11),
    (("edge", "windows", "desktop"), 8),
    (("firefox", "linux", "desktop"), 5),
];

fn stream(random: &mut Random) -> Stream {
    let model = random.choose(&MODELS);
    let outcome = *random.choose(&OUTCOMES);
    let mut report = StreamReport {
        rev: 1,
        open: false,
        outcome,
        use_case: Some((*random.choose(&USE_CASES)).into()),
        dialect: Some(model.dialect.into()),
        provider: Some(model.provider.into()),
        model: Some(model.name.into()),
        page: Some(page(random)),
        clock_resolution_ms: Some(0.1),
        ..StreamReport::new("0".repeat(32))
    };
    match outcome {
        Outcome::HttpError => {
            report.status = Some(*random.choose(&[(429, 6), (500, 3), (503, 1)]));
            report.headers_ms = Some(random.around_ms(250.0, 0.8));
            report.close_ms = report.headers_ms;
            Stream { open: None, ended: report }
        }
        Outcome::NetworkError | Outcome::Timeout if random.below(2) == 0 => {
            report.close_ms = Some(random.around_ms(9_000.0, 0.6));
            Stream { open: None, ended: report }
        }
        _ => with_text(random, model, report),
    }
}

fn with_text(random: &mut Random, model: &Model, mut report: StreamReport) -> Stream {
    let ttft_ms = random.around_ms(model.ttft_ms, 0.5);
    let thinking_ms = if model.thinking_ms > 0.0 { random.around_ms(model.thinking_ms, 0.6) } else { 0.0 };
    report.status = Some(200);
    report.headers_ms = Some(tenths(ttft_ms * (0.3 + 0.5 * random.unit())));
    report.first_byte_ms = Some(tenths(ttft_ms * 0.95));
    report.first_event_ms = report.first_byte_ms;
    report.ttft_ms = Some(ttft_ms);
    report.ttfv_ms = Some(tenths(ttft_ms + thinking_ms));
    report.response_model = report.model.clone();
    report.page_lifecycle =
        Some(PageLifecycle { protocol: Some(Protocol::Http2), ..PageLifecycle::default() });
    report.network_timing = Some(NetworkTiming {
        dns_ms: Some(0.0),
        connect_ms: Some(0.0),
        tls_ms: Some(0.0),
        wait_ms: report.headers_ms,
    });
    if model.tells {
        let ttft_ms = Some(tenths(ttft_ms * (0.6 + 0.3 * random.unit())));
        report.server = Some(ServerTiming { source: "vllm".into(), ttft_ms, ..ServerTiming::default() });
    }
    let whole = random.around_ms(110.0, 0.8).clamp(3.0, 2_000.0) + thinking_ms / model.gap_ms;
    let share = if report.outcome == Outcome::Complete { 1.0 } else { random.unit() };
    read(random, model, (whole * share).max(1.0) as u32, report)
}

/// Adds so many reads after the first text, with what is known a second after it on the way.
fn read(random: &mut Random, model: &Model, reads: u32, mut report: StreamReport) -> Stream {
    let ttft_ms = report.ttft_ms.unwrap_or_default();
    let mut gaps = Histogram::default();
    let (mut at_ms, mut longest_ms, mut open) = (ttft_ms, 0.0_f64, None);
    for read in 1..=reads {
        let gap_ms = random.around_ms(model.gap_ms, 0.7);
        if open.is_none() && at_ms + gap_ms > ttft_ms + 1_000.0 {
            open = Some(StreamReport {
                rev: 0,
                open: true,
                outcome: Outcome::Abandoned,
                ttfv_ms: report.ttfv_ms.filter(|ms| *ms <= at_ms),
                longest_gap_ms: Some(longest_ms),
                gaps: Some(gaps.clone()),
                ..report.clone()
            });
        }
        gaps.record(gap_ms);
        at_ms += gap_ms;
        longest_ms = longest_ms.max(gap_ms);
        report.chunks = read + 1;
    }
    (report.events, report.deltas) = (report.chunks + 3, report.chunks);
    report.bytes = u64::from(report.chunks) * 190;
    report.e2e_ms = Some(tenths(at_ms));
    report.close_ms = Some(tenths(at_ms + 1.5));
    report.ttfv_ms = report.ttfv_ms.filter(|ms| *ms <= at_ms);
    report.longest_gap_ms = Some(longest_ms);
    report.gaps = Some(gaps);
    if report.outcome == Outcome::Complete {
        let tokens = u64::from(report.chunks) * 2;
        report.finish_reason = Some("stop".into());
        report.input_tokens = Some(50 + random.below(4_000));
        report.output_tokens = Some(tokens);
        report.tpot_ms = Some(tenths((at_ms - ttft_ms) / (tokens - 1) as f64));
    }
    if let Some(defect) = *random.choose(&DEFECTS) {
        report.defects.set(defect, 1);
    }
    Stream { open, ended: report }
}

fn page(random: &mut Random) -> Page {
    let (browser, os, device) = *random.choose(&BROWSERS);
    Page {
        browser: Some(browser.into()),
        browser_version: Some(format!("{browser} 156").into()),
        os: Some(os.into()),
        device: Some(device.into()),
        connection: Some("4g".into()),
        visibility: Some(if random.below(8) == 0 { "mixed" } else { "visible" }.into()),
        release: Some("2026.11.3".into()),
        route: Some("/chat/:id".into()),
    }
}

/// The clock's resolution.
fn tenths(ms: f64) -> f64 {
    (ms * 10.0).round() / 10.0
}

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Lognormal, in tenths of a millisecond.
    fn around_ms(&mut self, median_ms: f64, sigma: f64) -> f64 {
        let normal = (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos();
        tenths(median_ms * (sigma * normal).exp())
    }

    /// By weight.
    fn choose<'a, T>(&mut self, among: &'a [(T, u32)]) -> &'a T {
        let all: u32 = among.iter().map(|(_, weight)| weight).sum();
        let mut lot = self.below(all.into()) as u32;
        for (value, weight) in among {
            if lot < *weight {
                return value;
            }
            lot -= weight;
        }
        &among[0].0
    }
}

//! How far from the truth the probe's times are: what the demo's LLM server logged of its writes comes in
//! beside the probe's reports, errors go out, and beside them those of a page that reads by itself.
//!
//! Streams with the probe and without take turns, so that what the machine does else meets both.

use anyhow::{Context, Result, bail, ensure};
use beacon::StreamReport;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Browser, Collector, DemoSite, Engine, Errors, LogEntry};

/// The errors of one engine over as many streams of either kind.
#[derive(Debug)]
pub struct Accuracy {
    /// Which engine.
    pub engine: Engine,
    /// How many streams the probe watched, and as many that it did not.
    pub streams: u64,
    /// Smallest step of the page's clock, in milliseconds, as the reports say.
    pub clock_step_ms: f64,
    /// Time to first token.
    pub ttft: Compared,
    /// The gap between the two texts of an answer.
    pub gap: Compared,
}

/// Errors of one figure, in milliseconds.
#[derive(Debug, Default)]
pub struct Compared {
    /// The probe's, against the server's log.
    pub probe: Errors,
    /// Those of a page without the probe, which stamps what it reads: the way through the loopback.
    pub plain: Errors,
    /// The probe's, against what its own page stamped at the very read, before the probe had it. What the
    /// machine does between the two stamps is in it.
    pub beside: Errors,
    /// How far the probe's lie outside of what its page stamped right before and right after the probe did:
    /// 0 within, whatever the machine does.
    pub outside: Errors,
}

/// What a page saw of one stream by its own clock.
#[derive(Debug, Deserialize)]
struct Seen {
    probed: bool,
    chunks: u32,
    ttft_ms: Between,
    /// `None` where both texts came in one read.
    gap_ms: Option<Between>,
}

/// A figure that lies between two of the page's own.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Between {
    /// By the stamps that come as close before those of a probe as they can.
    seen: f64,
    least: f64,
    most: f64,
}

impl Between {
    /// How far from the nearest that it may be.
    fn outside(self, figure: f64) -> f64 {
        figure - figure.clamp(self.least, self.most)
    }
}

/// Lets a page in that engine read `streams` answers with the probe and as many without, in turns.
///
/// # Errors
/// When a server or the browser does not start, or what it reports is not the stream that was sent.
pub async fn accuracy(engine: Engine, streams: u64) -> Result<Accuracy> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let demo = DemoSite::start(&collector.url).await?;
    let browser = Browser::start_in(engine).await?;
    // The probe as a page has it by default: the demo's own has every extension in it.
    browser.page.goto(&format!("{}/?with=", demo.url)).await?;
    browser.run(OPEN_BOTH, vec![]).await?;
    // The first streams of a page compile its scripts and open its connections.
    browser.run(READ_STREAMS, vec![WARM_UP.into()]).await?;
    let warm = demo.latest().await?;
    let answer = browser.run(READ_STREAMS, vec![streams.into()]).await?;
    let (seen, ids): (Vec<Seen>, Vec<String>) = serde_json::from_value(answer)?;
    browser.close().await?;
    let log = demo.log(warm).await?;
    ensure!(log.len() == seen.len(), "the server logged {} of {} streams", log.len(), seen.len());
    ensure!(ids.len() as u64 == streams, "the probe told of {} of {streams} streams", ids.len());

    let mut ids = ids.iter();
    let mut result =
        Accuracy { engine, streams, clock_step_ms: 0.0, ttft: Compared::default(), gap: Compared::default() };
    for (seen, entry) in seen.iter().zip(&log) {
        if seen.probed {
            let id = ids.next().context("a report of each")?;
            result.add_probed(seen, entry, &collector.final_report(id).await?)?;
        } else {
            result.add_plain(seen, entry)?;
        }
    }
    Ok(result)
}

impl Accuracy {
    fn add_plain(&mut self, seen: &Seen, entry: &LogEntry) -> Result<()> {
        let (sent, sent_gap) = sent(entry)?;
        self.ttft.plain.push(seen.ttft_ms.seen - sent);
        self.gap.plain.extend(seen.gap_ms.map(|gap| gap.seen - sent_gap));
        Ok(())
    }

    fn add_probed(&mut self, seen: &Seen, entry: &LogEntry, report: &StreamReport) -> Result<()> {
        let (sent, sent_gap) = sent(entry)?;
        // One stream at a time: the order of ends is the order of requests.
        let same = report.response_id.is_none() || report.response_id.as_deref() == entry.id.as_deref();
        ensure!(same && report.bytes == entry.bytes(), "{report:#?} is not {entry:?}");
        ensure!(report.chunks == seen.chunks, "the page read {} chunks: {report:#?}", seen.chunks);
        let ttft = report.ttft_ms.with_context(|| format!("no TTFT in {report:#?}"))?;
        self.ttft.add(ttft, sent, seen.ttft_ms);
        // Nothing to compare where both texts came in one read.
        if let (Some(probe), Some(page)) = (report.longest_gap_ms, seen.gap_ms) {
            self.gap.add(probe, sent_gap, page);
        }
        self.clock_step_ms = f64::max(self.clock_step_ms, report.clock_resolution_ms.unwrap_or(0.0));
        Ok(())
    }

    /// Whether the probe's error at p99 is at most two steps of the clock above the plain page's.
    #[must_use]
    pub fn meets_goal(&self) -> bool {
        let allowed = 2.0 * self.clock_step_ms;
        [&self.ttft, &self.gap]
            .iter()
            .all(|figure| figure.probe.size(0.99) <= figure.plain.size(0.99) + allowed)
    }

    /// All figures, for another program.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let figure = |Compared { probe, plain, beside, .. }: &Compared| json!({ "probe_ms": probe.to_json(), "plain_ms": plain.to_json(), "beside_page_ms": beside.to_json() });
        json!({
            "engine": self.engine.to_string(),
            "streams": self.streams,
            "clock_step_ms": self.clock_step_ms,
            "ttft": figure(&self.ttft),
            "gap": figure(&self.gap),
            "meets_goal": self.meets_goal(),
        })
    }
}

impl Compared {
    fn add(&mut self, probe: f64, sent: f64, page: Between) {
        self.probe.push(probe - sent);
        self.beside.push(probe - page.seen);
        self.outside.push(page.outside(probe));
    }
}

/// When the server sent the first text, since the request, and how long after it the second.
fn sent(entry: &LogEntry) -> Result<(f64, f64)> {
    let texts: Vec<_> =
        entry.writes.iter().filter(|write| write.tokens > 0).map(|write| write.t_ms).collect();
    let [first, second] = texts[..] else { bail!("{} writes with text in {entry:?}", texts.len()) };
    Ok((first, second - first))
}

impl std::fmt::Display for Accuracy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, figure) in [("TTFT", &self.ttft), ("gap", &self.gap)] {
            write!(f, "{:<9} {name:<5}", self.engine)?;
            for errors in [&figure.probe, &figure.plain, &figure.beside] {
                write!(f, "  {errors}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

const WARM_UP: u64 = 4;

/// Waits for the probe, keeps the ids of its reports, and opens the same page without it in a frame.
const OPEN_BOTH: &str = "
    while (!window.llmRum?.probe) await new Promise(resolve => setTimeout(resolve, 10));
    window.ended = [];
    window.llmRum.probe.onStreamEnd(report => window.ended.push(report.id));
    window.plain = document.createElement('iframe');
    window.plain.src = '/?probe=off';
    const loaded = new Promise(resolve => window.plain.addEventListener('load', resolve));
    document.body.append(window.plain);
    await loaded;
    // In either page each read is stamped when the browser has it, and before a probe sees it.
    for (const { ReadableStreamDefaultReader: { prototype } } of [window, window.plain.contentWindow]) {
        const { read } = prototype;
        prototype.read = function () {
            return read.call(this).then(result => {
                window.readAt = performance.now();
                return result;
            });
        };
    }";

/// Reads short answers of two texts one after the other, as an app would, from each API, in turns by the
/// watched fetch and by the frame's; looks itself for the texts.
const READ_STREAMS: &str = r#"
    const routes = ['v1/chat/completions', 'v1/responses', 'v1/messages', 'api/chat'];
    // A text is there with the end of its event.
    const texts_of = [/"(content|delta|text)":"[^"].*\n\n/g, /"content":"[^"].*\n/g];
    const body = JSON.stringify({ model: 'demo', stream: true, max_tokens: 64, messages: [{ role: 'user', content: 'hi' }], input: 'hi' });
    const seen = [];
    window.ended.length = 0;
    for (let i = 0; i < 2 * args[0]; i++) {
        const probed = i % 2 == 0;
        const page = probed ? window : window.plain.contentWindow;
        const route = routes[(i >> 1) % 4], text = texts_of[+(route == 'api/chat')];
        const start = performance.now();
        const response = page.fetch(`/llm/normal;first=15;gap=15;deltas=2/${route}`, {
            method: 'POST', headers: { 'content-type': 'application/json' }, body,
        });
        const called = performance.now();
        const reader = (await response).body.getReader();
        const texts = [];
        let all = '', chunks = 0;
        for (;;) {
            const { done, value } = await reader.read();
            const after = performance.now();
            if (done) break;
            chunks++;
            // WebKit may split a text between two reads.
            all += new TextDecoder().decode(value);
            while (texts.length < (all.match(text) ?? []).length) texts.push({ at: window.readAt, after, chunks });
        }
        const [first, second] = texts;
        const ttft_ms = { seen: first.at - start, least: first.at - called, most: first.after - start };
        const gap_ms = second.chunks == first.chunks ? null
            : { seen: second.at - first.at, least: second.at - first.after, most: second.after - first.at };
        seen.push({ probed, chunks, ttft_ms, gap_ms });
        // Callbacks come a moment after the end.
        const until = performance.now() + 5000;
        while (window.ended.length <= i >> 1) {
            if (performance.now() > until) throw new Error(`no report of stream ${i}`);
            await new Promise(resolve => setTimeout(resolve));
        }
    }
    await window.llmRum.probe.flush();
    return [seen, window.ended];"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_outside_has_its_distance_to_the_nearest_bound() {
        let between = Between { seen: 5.1, least: 5.0, most: 7.0 };
        let outside = [4.5, 5.0, 6.9, 7.25].map(|figure| between.outside(figure));
        assert_eq!(outside, [-0.5, 0.0, 0.0, 0.25]);
    }
}

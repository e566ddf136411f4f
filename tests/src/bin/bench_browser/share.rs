//! Share of the main thread that the probe takes while a model streams, from the network to the app: alone,
//! as the first snippet of the README installs it, and with every extension; beside them, what a watcher takes
//! that does nothing but note the time of each read.

use std::fmt;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::json;
use tests::{Browser, Collector, DemoSite};

use crate::page::busy_ms;

/// What a page without the probe takes, and what it takes more with it.
#[derive(Serialize)]
pub(crate) struct Share {
    unit: &'static str,
    reads_per_second: u32,
    without: Spread,
    noted: Spread,
    alone: Spread,
    every_extension: Spread,
    /// Of what the probe alone takes more: what it takes for the shortest stream, which is the opening, the report
    /// and the sending of that.
    once_per_stream: Spread,
    /// What the probe alone takes, of what the page without it takes.
    of_the_pages_own: f64,
}

/// Of all rounds.
#[derive(Serialize)]
struct Spread {
    lower_quartile: f64,
    median: f64,
    upper_quartile: f64,
}

/// Reads with the probe and without it in turns, in one page that loads nothing between them: pages differ in
/// how far the engine has compiled them more than by the probe.
pub(crate) async fn run(browser: &Browser) -> Result<Share> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let demo = DemoSite::start(&collector.url).await?;
    browser.page.goto(&format!("{}/?probe=off", demo.url)).await?;
    browser.run(INSTALL, vec![json!(collector.url)]).await?;
    for fetch in FETCHES.into_iter().cycle().take(WARM_ROUNDS * FETCHES.len()) {
        share(browser, fetch).await?;
    }
    let mut shares = [const { Vec::new() }; FETCHES.len()];
    for round in 0..ROUNDS {
        let mut turns = std::array::from_fn::<_, { FETCHES.len() }, _>(|turn| turn);
        // Each comes first, and after others.
        turns.rotate_left(round % FETCHES.len());
        if round / FETCHES.len() % 2 == 1 {
            turns.reverse();
        }
        for fetch in turns {
            shares[fetch].push(share(browser, FETCHES[fetch]).await?);
        }
    }
    let mut once = Vec::new();
    for round in 0..ROUNDS {
        let mut busy = [0.0; 2];
        for turn in [round % 2, 1 - round % 2] {
            busy[turn] = stream(browser, [FETCHES[0], ALONE][turn], FEW).await?.busy_ms;
        }
        once.push((busy[1] - busy[0]) / f64::from(TEXTS) * 100.0);
    }
    let [without, noted, alone, every_extension] = shares;
    // What the machine does else changes slowly: neighbours differ by the probe more than by that.
    let more = |with: Vec<f64>| Spread::of(with.iter().zip(&without).map(|(with, without)| with - without));
    let [noted, alone, every_extension] = [noted, alone, every_extension].map(more);
    let own = Spread::of(without.iter().copied());
    Ok(Share {
        unit: "%",
        reads_per_second: 1000,
        of_the_pages_own: alone.median / own.median,
        without: own,
        noted,
        alone,
        every_extension,
        once_per_stream: Spread::of(once.into_iter()),
    })
}

impl Share {
    /// Fails if the probe takes too much of what the page takes.
    pub(crate) fn check(&self) -> Result<()> {
        let ratio = self.of_the_pages_own;
        ensure!(
            ratio <= MOST_OF_THE_PAGES_OWN,
            "the main thread takes {ratio:.2} of the page's own for the probe, above {MOST_OF_THE_PAGES_OWN}"
        );
        Ok(())
    }
}

/// In percent of the main thread's time, at 1,000 reads per second, with the stream's report.
async fn share(browser: &Browser, fetch: &str) -> Result<f64> {
    let Taken { busy_ms, reads } = stream(browser, fetch, TEXTS).await?;
    // A busy machine joins writes: per read, and times 1,000, it is the same share.
    ensure!(reads > f64::from(TEXTS) * 0.3, "{reads} reads of {TEXTS} texts");
    Ok(busy_ms / reads * 100.0)
}

/// What a stream took of the main thread.
struct Taken {
    busy_ms: f64,
    reads: f64,
}

async fn stream(browser: &Browser, fetch: &str, texts: u32) -> Result<Taken> {
    let before = busy_ms(browser).await?;
    let arguments = vec![json!(fetch), json!(texts)];
    let reads = browser.run(READ, arguments).await?.as_f64().context("a number")?;
    Ok(Taken { busy_ms: busy_ms(browser).await? - before, reads })
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |share: usize| values.get(values.len() * share / 4).copied().unwrap_or(f64::NAN);
        Self { lower_quartile: at(1), median: at(2), upper_quartile: at(3) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { without, noted, alone, every_extension, once_per_stream, of_the_pages_own, .. } = self;
        writeln!(f, "main thread at 1,000 reads per second, {ROUNDS} rounds in turns")?;
        writeln!(f, "  without the probe              {without}")?;
        writeln!(f, "  more with a note of each time  {noted}")?;
        writeln!(f, "  more with the probe alone      {alone}, {of_the_pages_own:.2} of the page's own")?;
        writeln!(f, "  of which once per stream       {once_per_stream}, with {TEXTS} reads")?;
        write!(f, "  more with every extension      {every_extension}")
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lower_quartile, median, upper_quartile } = self;
        write!(f, "{median:>6.2} % (half of all {lower_quartile:.2} to {upper_quartile:.2})")
    }
}

/// What the probe alone may take, of the page's own.
const MOST_OF_THE_PAGES_OWN: f64 = 0.25;

/// Of the page, as [`INSTALL`] makes them; the first is its own.
const FETCHES: [&str; 4] = ["without", "noted", ALONE, "extended"];
const ALONE: &str = "alone";
/// Half of the differences lie within 1.2 %: so many bring their median to within some 0.15.
const ROUNDS: usize = 60;
const WARM_ROUNDS: usize = 2;
const TEXTS: u32 = 800;
/// As few as a stream can have and be one.
const FEW: u32 = 2;

/// Two probes that watch nothing but what is read through them: one alone, one with every extension. And what
/// the smallest watcher of reads cannot do without.
const INSTALL: &str = "
    const { fetch } = window;
    const load = async (name) => {
        const script = document.createElement('script');
        script.src = `${args[0]}/${name}.js`;
        const loaded = new Promise(resolve => script.addEventListener('load', resolve));
        document.head.append(script);
        await loaded;
    };
    const start = () => window.llmRum.start({ collector: args[0], site: 'demo', patchFetch: false });
    await load('llm-rum');
    const alone = start();
    await load('llm-rum');
    await load('llm-rum-more');
    const extended = start();
    for (const extend of Object.values(window.llmRumMore)) extended.use(extend({ isStream: () => true }));
    const times = [];
    const noted = async (...call) => {
        const response = await fetch(...call);
        const { body } = response;
        body.getReader = () => {
            const reader = ReadableStream.prototype.getReader.call(body);
            reader.read = () => {
                const read = ReadableStreamDefaultReader.prototype.read.call(reader);
                read.then(() => times.push(performance.now()));
                return read;
            };
            return reader;
        };
        return response;
    };
    window.probes = { alone, extended };
    window.fetches = { without: fetch, noted, alone: alone.wrapFetch(fetch), extended: extended.wrapFetch(fetch) };";

/// Reads an answer of so many texts, a millisecond apart, and lets it be reported; gives back how many reads
/// that took.
const READ: &str = "
    const [name, texts] = args;
    const fetch = fetches[name];
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const url = `/llm/normal;first=0;gap=1;deltas=${texts}/v1/chat/completions`;
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const reader = response.body.getReader();
    let reads = 0;
    while (!(await reader.read()).done) reads++;
    await probes[name]?.flush();
    if (probes[name]?.faults) throw new Error('the probe has given up');
    return reads;";

//! Time per read: natively, with the probe, and with other SDKs, over the same answers; in a row, and with a
//! millisecond between them, in which the processor does other things.

use std::fmt;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::Browser;

use crate::median::median;
use crate::page::{busy_ms, collect_garbage};

/// What reading costs with every SDK.
pub(crate) struct Contest {
    in_a_row: Vec<Contender>,
    apart: Vec<Contender>,
}

/// What reading costs with one SDK, in microseconds of the main thread per read.
struct Contender {
    name: &'static str,
    fastest: f64,
    median: f64,
    /// Median of what it took longer than the native page in the same round.
    more: f64,
}

/// How reads follow each other.
#[derive(Clone, Copy)]
struct Pace {
    apart_ms: u32,
    events: u32,
    rounds: usize,
    /// The first ones are the compilers'.
    warm_rounds: usize,
}

/// Reads with every SDK in turns, so that what the machine does else meets all of them.
pub(crate) async fn run(browser: &Browser, server: &str) -> Result<Contest> {
    browser.page.goto(&format!("{server}/blank.html")).await?;
    let files: Vec<_> = SDKS.iter().map(|(file, _)| *file).collect();
    browser.run(include_str!("page.js"), vec![json!(files)]).await?;
    Ok(Contest { in_a_row: contenders(browser, IN_A_ROW).await?, apart: contenders(browser, APART).await? })
}

async fn contenders(browser: &Browser, pace: Pace) -> Result<Vec<Contender>> {
    let mut taken = vec![Vec::new(); SDKS.len()];
    for round in 0..pace.warm_rounds + pace.rounds {
        let mut readers: Vec<usize> = (0..SDKS.len()).collect();
        // Each comes after another one than in the round before.
        if round % 2 == 1 {
            readers.reverse();
        }
        for reader in readers {
            let us = per_read_us(browser, reader, pace).await?;
            if round >= pace.warm_rounds {
                taken[reader].push(us);
            }
        }
    }
    let contender = |((_, name), rounds): (&(_, &'static str), &Vec<f64>)| Contender {
        name,
        fastest: rounds.iter().copied().fold(f64::INFINITY, f64::min),
        median: median(rounds.clone()),
        more: median(rounds.iter().zip(&taken[0]).map(|(with, without)| with - without).collect()),
    };
    Ok(SDKS.iter().zip(&taken).map(contender).collect())
}

/// By the main thread's own clock, which stands while another process has the processor.
async fn per_read_us(browser: &Browser, reader: usize, pace: Pace) -> Result<f64> {
    // All of them share a heap: one that leaves much behind would let the next one tidy up.
    collect_garbage(browser).await?;
    let before = busy_ms(browser).await?;
    let arguments = vec![json!(reader), json!(pace.events), json!(pace.apart_ms)];
    browser.run("await readers[args[0]].cost.perRead(args[1], args[2]);", arguments).await?;
    let taken = busy_ms(browser).await? - before;
    // What an SDK does after the end of a stream is not the next one's.
    browser.run("await new Promise(resolve => setTimeout(resolve, 20));", vec![]).await?;
    Ok(taken * 1000.0 / f64::from(pace.events))
}

impl Contest {
    /// Fails if a read takes too much longer than natively, beside what it takes longer with OpenTelemetry.
    pub(crate) fn check(&self) -> Result<()> {
        let ratios = self.of_opentelemetry();
        ensure!(
            ratios.iter().zip(MOST_OF_OPENTELEMETRY).all(|(ratio, most)| *ratio <= most),
            "a read takes {ratios:.2?} of what OpenTelemetry adds, above {MOST_OF_OPENTELEMETRY:?}"
        );
        Ok(())
    }

    /// What the probe adds to a read in a row, of what OpenTelemetry adds: alone, and with every extension.
    fn of_opentelemetry(&self) -> [f64; 2] {
        let [_, alone, opentelemetry, extended, ..] = &self.in_a_row[..] else { return [f64::NAN; 2] };
        [alone, extended].map(|probe| probe.more / opentelemetry.more)
    }

    /// Those of reads in a row, and those of reads apart.
    pub(crate) fn to_json(&self) -> [Value; 2] {
        [&self.in_a_row, &self.apart].map(|contenders| contenders.iter().map(Contender::to_json).collect())
    }
}

impl fmt::Display for Contest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "time per read in Chromium, {} rounds in turns", IN_A_ROW.rounds)?;
        self.in_a_row.iter().try_for_each(|contender| write!(f, "\n  {contender}"))?;
        let [alone, extended] = self.of_opentelemetry();
        write!(f, "\n  of what OpenTelemetry adds: {alone:.2}, with every extension {extended:.2}")?;
        write!(
            f,
            "\nthe same {} ms after the read before, {} rounds in turns",
            APART.apart_ms, APART.rounds
        )?;
        self.apart.iter().try_for_each(|contender| write!(f, "\n  {contender}"))
    }
}

impl Contender {
    fn to_json(&self) -> Value {
        json!({ "name": self.name, "fastest_us": self.fastest, "median_us": self.median, "over_native_us": self.more })
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, fastest, median, more } = self;
        write!(f, "{name:<32} fastest {fastest:>6.2} median {median:>6.2} µs, {more:>+6.2} µs to native")
    }
}

const IN_A_ROW: Pace = Pace { apart_ms: 0, events: 10_000, rounds: 25, warm_rounds: 3 };
/// After the others, which have warmed the same pages.
const APART: Pace = Pace { apart_ms: 1, events: 400, rounds: 15, warm_rounds: 0 };

/// What the probe may add to a read, of what OpenTelemetry adds: alone, and with every extension.
const MOST_OF_OPENTELEMETRY: [f64; 2] = [0.3, 0.5];

/// By their files under `conformance/sdks`; the first and the last are pages without one, which differ by chance.
const SDKS: [(&str, &str); 7] = [
    ("", "native"),
    ("llm-rum-alone", "llm-rum, as in the README"),
    ("opentelemetry", "OpenTelemetry"),
    ("llm-rum", "llm-rum, every extension"),
    ("sentry", "Sentry, tracing"),
    ("sentry-streams", "Sentry, tracing and streams"),
    ("", "native once more"),
];

//! Framing and the whole pipeline against common alternatives, in one run over the same bytes.
//!
//! `cargo xtask bench core`, or `cargo bench -p probe-core --bench core -- [--json]`. Contenders take turns, and the
//! fastest of their rounds counts: other load of the machine only adds time.

#[path = "core/bodies.rs"]
mod bodies;
#[path = "core/contenders.rs"]
mod contenders;
#[path = "core/types.rs"]
mod types;

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};

use contenders::Contender;

/// The results of all contenders for one body.
struct Contest {
    name: &'static str,
    body: Vec<u8>,
    /// Bytes of each chunk; 0: one event in each.
    chunk: usize,
    contenders: &'static [Contender],
}

fn main() {
    let results = contests().iter().map(Contest::run).collect::<Vec<_>>();
    if std::env::args().any(|argument| argument == "--json") {
        // The pipeline where it gains least, against the common alternative.
        let pipelines =
            results.iter().filter(|result| result["name"].as_str().is_some_and(|it| it.contains("pipeline")));
        let ratios = pipelines.filter_map(|result| result["contenders"][1]["ratio"].as_f64());
        let ratio = ratios.fold(f64::INFINITY, f64::min);
        println!("{}", json!({ "name": "core", "ratio": ratio, "contests": results }));
        return;
    }
    for result in &results {
        println!("{}", result["name"].as_str().unwrap_or_default());
        for contender in result["contenders"].as_array().into_iter().flatten() {
            println!(
                "  {:<28} {:>8.1} ns per event {:>9.0} MB/s {:>6.2} x",
                contender["name"].as_str().unwrap_or_default(),
                contender["ns_per_event"].as_f64().unwrap_or_default(),
                contender["mb_per_s"].as_f64().unwrap_or_default(),
                contender["ratio"].as_f64().unwrap_or_default(),
            );
        }
    }
}

fn contests() -> [Contest; 5] {
    let framing = of_200_byte_events(20_000);
    let [chat, anthropic] = [bodies::chat(10_000), bodies::anthropic(10_000)];
    [
        Contest {
            name: "framing, 200-byte events in reads of 16 KiB",
            body: framing.clone(),
            chunk: 16 * 1024,
            contenders: contenders::FRAMING,
        },
        Contest {
            name: "framing, 200-byte events, one per read",
            body: framing,
            chunk: 0,
            contenders: contenders::FRAMING,
        },
        Contest {
            name: "pipeline, OpenAI chat, one event per read",
            body: chat.clone(),
            chunk: 0,
            contenders: contenders::CHAT,
        },
        Contest {
            name: "pipeline, Anthropic, one event per read",
            body: anthropic,
            chunk: 0,
            contenders: contenders::ANTHROPIC,
        },
        Contest {
            name: "pipeline, OpenAI chat, each event in two reads",
            body: chat,
            chunk: 1,
            contenders: contenders::CHAT,
        },
    ]
}

impl Contest {
    /// A ratio is the time of a contender over the time of the first one, which is ours.
    fn run(&self) -> Value {
        let chunks = self.chunks();
        let events = (self.contenders[0].run)(&chunks);
        let mut best = vec![f64::INFINITY; self.contenders.len()];
        for _ in 0..ROUNDS {
            for (contender, best) in self.contenders.iter().zip(&mut best) {
                let start = Instant::now();
                let counted = (contender.run)(black_box(&chunks));
                *best = best.min(start.elapsed().as_secs_f64());
                assert!(counted >= events, "{} saw {counted} events of {events}", contender.name);
            }
        }
        let row = |(contender, seconds): (&Contender, &f64)| {
            json!({
                "name": contender.name,
                "ns_per_event": seconds * 1e9 / events as f64,
                "mb_per_s": self.body.len() as f64 / seconds / 1e6,
                "ratio": seconds / best[0],
            })
        };
        let rows = self.contenders.iter().zip(&best).map(row).collect::<Vec<_>>();
        json!({ "name": self.name, "events": events, "bytes": self.body.len(), "contenders": rows })
    }

    fn chunks(&self) -> Vec<&[u8]> {
        match self.chunk {
            0 => events(&self.body).collect(),
            1 => {
                events(&self.body).flat_map(|event| <[_; 2]>::from(event.split_at(event.len() / 2))).collect()
            }
            bytes => self.body.chunks(bytes).collect(),
        }
    }
}

/// Events of exactly 200 bytes each, one `data` line and a blank one.
fn of_200_byte_events(events: usize) -> Vec<u8> {
    let event = format!("data: {}\n\n", "x".repeat(192));
    event.repeat(events).into_bytes()
}

/// The events of a body, each with its blank line.
fn events(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let end = rest.windows(2).position(|two| two == b"\n\n")? + 2;
        let (event, more) = rest.split_at(end);
        rest = more;
        Some(event)
    })
}

const ROUNDS: usize = 15;

//! How far the probe's times are from what the server sent when, and from what the page itself sees at the
//! same read. `cargo xtask bench accuracy` prints the same over more streams.

use anyhow::{Context, Result, ensure};
use tests::{Accuracy, Compared, Engine, accuracy};

const STREAMS: u64 = 100;

#[tokio::test(flavor = "multi_thread")]
async fn times_are_the_servers_within_the_clock_in_every_engine() -> Result<()> {
    // One after the other: engines side by side would measure each other.
    for engine in Engine::ALL {
        let measured = accuracy(engine, STREAMS).await.with_context(|| format!("in {engine}"))?;
        print!("{measured}");
        for (name, figure) in [("TTFT", &measured.ttft), ("gap", &measured.gap)] {
            check(&measured, figure)
                .with_context(|| format!("{name} in {engine}: {}", measured.to_json()))?;
        }
    }
    Ok(())
}

fn check(measured: &Accuracy, figure: &Compared) -> Result<()> {
    let Compared { probe, plain, beside } = figure;
    // Now and then a delayed machine hands two texts to one read, and there is no gap to compare.
    let few = STREAMS as usize * 9 / 10;
    ensure!(probe.count() >= few && plain.count() >= few, "{} and {} figures", probe.count(), plain.count());
    let steps = 2.0 * measured.clock_step_ms;
    ensure!(steps > 0.0, "the clock's step is not told");
    ensure!(beside.size(0.99) <= steps, "the probe does not see what its page sees");
    // The tails are the machine's, which does other things beside: the benchmark shows them.
    ensure!(
        probe.size(0.5) <= plain.size(0.5) + f64::max(steps, 1.0),
        "the probe is later than a page without it"
    );
    Ok(())
}

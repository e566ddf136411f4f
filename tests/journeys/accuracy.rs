//! How far the probe's times are from what the server sent when, and from what the page itself sees at the
//! same read. `cargo xtask bench accuracy` prints the same over more streams.

use anyhow::{Context, Result, ensure};
use tests::{Accuracy, Compared, Engine, accuracy};

const STREAMS: u64 = 100;

#[tokio::test(flavor = "multi_thread")]
async fn times_match_the_server_in_every_engine() -> Result<()> {
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
    let Compared { probe, plain, beside, outside } = figure;
    // A delayed machine hands two texts to one read, and there is no gap to compare.
    let few = STREAMS as usize / 2;
    ensure!(probe.count() >= few && plain.count() >= few, "{} and {} figures", probe.count(), plain.count());
    let steps = 2.0 * measured.clock_step_ms;
    ensure!(steps > 0.0, "the clock's step is not told");
    // Each of them, whatever the machine did between two stamps.
    ensure!(outside.size(1.0) <= measured.clock_step_ms, "the probe's read is not its page's");
    ensure!(beside.size(0.5) <= steps, "the probe stamps later than its page");
    // The tails are the machine's, which does other things beside: the benchmark shows them. A machine on
    // which the way through the loopback takes longer takes longer for the probe's part, too.
    let plain = plain.size(0.5);
    ensure!(
        probe.size(0.5) <= plain + steps.max(1.0).max(plain / 3.0),
        "the probe is later than a page without it"
    );
    Ok(())
}

//! When the first visible token was in a frame: the probe's figure beside the browser's own record.

use anyhow::{Context, Result, ensure};
use tests::{Engine, paint};

const STREAMS: u64 = 20;
/// A frame at 60 Hz, and a little for the way of a message.
const FRAME_MS: f64 = 20.0;
/// Two steps of the coarsest clock: both are told by messages of one frame.
const STEPS_MS: f64 = 2.0;

#[tokio::test(flavor = "multi_thread")]
async fn the_first_paint_is_the_frame_of_the_text_in_every_engine() -> Result<()> {
    // One after the other: three at once would wait for each other's frames.
    for engine in Engine::ALL {
        let measured = paint(engine, STREAMS).await.with_context(|| format!("in {engine}"))?;
        print!("{measured}");
        // A probe that a busy machine lets know of a token too late to look says so.
        ensure!(measured.absent * 2 <= STREAMS, "not told: {measured:?}");
        ensure!(measured.beside.size(0.5) <= STEPS_MS, "not the page's frame: {measured:?}");
        ensure!(measured.probe.is_some() == (engine == Engine::Chromium), "{measured:?}");
        if let (Some(probe), Some(page)) = (&measured.probe, &measured.page) {
            // Where frames take longer than they should, no page knows better.
            let known = f64::max(FRAME_MS, page.size(0.5) + STEPS_MS);
            ensure!(probe.size(0.5) <= known, "not the frame that was presented: {measured:?}");
        }
    }
    Ok(())
}

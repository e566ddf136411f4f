//! Plays a plan: sends body chunks at their times and logs each of them. Only this
//! module has the timers of scripted streams.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use beacon::LayerEnd;
use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::time::sleep_until;

use crate::event::Moments;
use crate::layers::{Ended, layers, tokens_until};
use crate::log::{End, Recorder};
use crate::plan::{Act, Ending, Plan, Step};
use crate::timings::SiteTimings;

/// The plan closes the connection here. As the error of a body, it makes the server close it.
#[derive(Debug)]
pub(crate) struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the scenario drops the connection here")
    }
}

impl std::error::Error for Cut {}

/// The body of `plan`. If dropped early, it logs that the client closed the connection. At the end it sends the timings
/// of the backend's layers.
pub(crate) fn play(
    plan: Plan,
    recorder: Recorder,
    timings: Option<SiteTimings>,
) -> impl Stream<Item = Result<Bytes, Cut>> + Send + 'static {
    let Plan { id, steps, ending, fails, stops_after, .. } = plan;
    let player = Player {
        steps: steps.into_iter(),
        ending,
        fails,
        stops_after,
        timings: timings.zip(id),
        recorder,
        moments: Moments::default(),
        over: false,
    };
    unfold(player, |mut player| async move {
        let chunk = player.next_write().await?;
        Some((chunk, player))
    })
}

struct Player {
    steps: std::vec::IntoIter<Step>,
    ending: Ending,
    fails: bool,
    stops_after: Duration,
    /// Where the timings of a response with an id go.
    timings: Option<(SiteTimings, String)>,
    recorder: Recorder,
    moments: Moments,
    over: bool,
}

impl Player {
    async fn next_write(&mut self) -> Option<Result<Bytes, Cut>> {
        if self.over {
            return None;
        }
        // The server flushes if a body has no data ready: yielding keeps two writes apart.
        tokio::task::yield_now().await;
        let (mut made, mut tokens) = (String::new(), 0);
        // The step stays in the list meanwhile: if the client leaves, it is one that was left.
        while let Some(at) = self.steps.as_slice().first().map(|step| step.at) {
            sleep_until(self.recorder.arrived() + at).await;
            let Some(step) = self.steps.next() else { break };
            match step.act {
                Act::Pass(station) => self.moments.pass(station, self.recorder.now_ms()),
                Act::Make(event) => {
                    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    self.moments.create(self.recorder.now_ms(), wall, event.tokens);
                    made.push_str(&event.text(&self.moments));
                    tokens += event.tokens;
                }
                Act::Write => {
                    self.recorder.write(made.as_bytes(), tokens);
                    return Some(Ok(made.into()));
                }
            }
        }
        self.finish()
    }

    fn finish(&mut self) -> Option<Result<Bytes, Cut>> {
        self.over = true;
        self.send_timings(if self.fails { LayerEnd::Error } else { LayerEnd::Complete }, 0);
        match self.ending {
            Ending::Close => {
                self.recorder.end(End::Complete);
                None
            }
            Ending::Cut => {
                self.recorder.end(End::Cut);
                Some(Err(Cut))
            }
        }
    }
    fn send_timings(&mut self, how: LayerEnd, after_gone: u64) {
        let ended = Ended { at_ms: self.recorder.now_ms(), how, after_gone };
        if let Some((timings, id)) = self.timings.take()
            && let Some(layers) = layers(&self.moments, ended)
        {
            timings.send(&id, &layers);
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if !self.over {
            let until = self.recorder.arrived().elapsed() + self.stops_after;
            self.send_timings(LayerEnd::ClientGone, tokens_until(self.steps.as_slice(), until));
        }
    }
}

//! Plays a plan: sends body chunks at their times and logs each of them. Only this
//! module has the timers of scripted streams.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::time::sleep_until;

use crate::event::Moments;
use crate::log::{End, Recorder};
use crate::plan::{Act, Ending, Plan, Step};

/// The plan closes the connection here. As the error of a body, it makes the server close it.
#[derive(Debug)]
pub(crate) struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the scenario drops the connection here")
    }
}

impl std::error::Error for Cut {}

/// The body of `plan`. If dropped early, it logs that the client closed the connection.
pub(crate) fn play(
    plan: Plan,
    recorder: Recorder,
) -> impl Stream<Item = Result<Bytes, Cut>> + Send + 'static {
    let player = Player {
        steps: plan.steps.into_iter(),
        ending: plan.ending,
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
        for step in self.steps.by_ref() {
            sleep_until(self.recorder.arrived() + step.at).await;
            match step.act {
                Act::Schedule => self.moments.scheduled_ms = Some(self.recorder.now_ms()),
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
}

//! The report of a simulated stream, computed without a server and without waiting.

use std::time::Duration;

use beacon::{LayerEnd, StreamReport};
use probe_core::{End, Meter, Timestamp};

use super::mix::Visit;
use crate::answer::Asked;
use crate::event::Moments;
use crate::layers::{Ended, layers, tokens_until};
use crate::plan::{Act, Ending, Plan, Step};
use crate::scenario::Scenario;
use crate::script::plan;

impl Visit {
    /// The report that [`read`](Self::read) would make of a request that arrives at `wall`, the time since 1970.
    pub(super) fn simulate(self, wall: Duration, seed: u64) -> StreamReport {
        let scenario: Scenario = self.scenario.parse().expect("the mix only draws scenarios of the table");
        let model = self.model.name.to_owned();
        let asked = Asked { model, body_bytes: REQUEST_BYTES, created: wall.as_secs() };
        let plan = plan(&scenario, self.model.api, &asked, seed);
        let mut meter = Meter::new(self.id.as_str(), Timestamp::from_ms(0.0));
        let arrives = |at: Duration| (self.round_trip + at).as_secs_f64() * 1e3;
        meter.on_headers(Timestamp::from_ms(arrives(Duration::ZERO)), plan.status, plan.content_type);
        let (mut moments, mut made, mut now_ms) = (Moments::default(), String::new(), 0.0);
        for (index, step) in plan.steps.iter().enumerate() {
            now_ms = arrives(step.at);
            if let Some((left_ms, end)) = self.departure(meter.progress().first_visible, now_ms) {
                meter.on_end(Timestamp::from_ms(left_ms), end);
                let (ended, moments) = left_behind(&plan, index, moments, left_ms);
                return self.report_with(&meter, &moments, ended);
            }
            let server_ms = ms(step.at);
            match &step.act {
                Act::Pass(station) => moments.pass(*station, server_ms),
                Act::Make(event) => {
                    moments.create(server_ms, wall + step.at, event.tokens);
                    made.push_str(&event.text(&moments));
                }
                Act::Write => {
                    meter.on_chunk(Timestamp::from_ms(now_ms), made.as_bytes());
                    made.clear();
                }
            }
        }
        let end = match plan.ending {
            Ending::Close => End::Closed,
            Ending::Cut => End::Failed,
        };
        meter.on_end(Timestamp::from_ms(now_ms), end);
        let at_ms = plan.steps.last().map_or(0.0, |step| ms(step.at));
        let how = if plan.fails { LayerEnd::Error } else { LayerEnd::Complete };
        self.report_with(&meter, &moments, Ended { at_ms, how, after_gone: 0 })
    }

    /// The report with what the backend measured of the same response. A response without an id never matches.
    fn report_with(self, meter: &Meter, moments: &Moments, ended: Ended) -> StreamReport {
        let report = self.report(meter);
        let layers = report.response_id.as_ref().and_then(|_| layers(moments, ended));
        StreamReport { layers, ..report }
    }

    /// When and how the user left, if that was before `now_ms`.
    fn departure(&self, has_text: bool, now_ms: f64) -> Option<(f64, End)> {
        let patience = (!has_text).then_some(self.patience);
        let ends = self.leaves.into_iter().chain(patience);
        let ends = ends.map(|departure| (departure.after.as_secs_f64() * 1e3, departure.end));
        ends.filter(|(left_ms, _)| *left_ms < now_ms).min_by(|one, other| one.0.total_cmp(&other.0))
    }
}

/// What the backend knows once the user has left before step `index` arrived. It hears of it half a round trip later,
/// and its clock began half a round trip later than the page's.
fn left_behind(plan: &Plan, index: usize, mut moments: Moments, left_ms: f64) -> (Ended, Moments) {
    let mut left = &plan.steps[index..];
    while let [Step { at, act }, rest @ ..] = left
        && ms(*at) <= left_ms
    {
        match act {
            Act::Pass(station) => moments.pass(*station, ms(*at)),
            Act::Make(event) => moments.create(ms(*at), Duration::ZERO, event.tokens),
            Act::Write => {}
        }
        left = rest;
    }
    let until = Duration::from_secs_f64(left_ms / 1e3) + plan.stops_after;
    let after_gone = tokens_until(left, until);
    (Ended { at_ms: left_ms, how: LayerEnd::ClientGone, after_gone }, moments)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// About the size of the request that a visit sends.
const REQUEST_BYTES: usize = 130;

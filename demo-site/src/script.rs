//! Writes the script of one stream: the events that the server sends, and when. A scenario, an API and a seed
//! determine it. Nothing here waits or sends.

use std::time::Duration;

use crate::answer::{Answer, Asked, Random};
use crate::api::Api;
use crate::dialect;
use crate::event::{Event, Station, first_token_comment, generation_comment};
use crate::plan::{Act, Ending, Plan, Step};
use crate::recorded;
use crate::scenario::{Kind, Scenario};

/// The plan of one response. The same seed gives the same plan.
pub(crate) fn plan(scenario: &Scenario, api: Api, asked: &Asked, seed: u64) -> Plan {
    let mut rng = Random::new(seed);
    match scenario.row.kind {
        Kind::HttpError => refusal(api, &mut rng),
        Kind::Empty => Plan { id: None, ..Plan::stream(api, Vec::new()) },
        Kind::Recorded => recorded::plan(),
        kind => {
            let answer = Answer::new(api, scenario, asked, &mut rng);
            let (steps, early) = Script { scenario, kind, answer: &answer, rng }.steps();
            Plan {
                id: dialect::of(api).id(&answer),
                ending: early.unwrap_or(Ending::Close),
                fails: early.is_some(),
                ..Plan::stream(api, steps)
            }
        }
    }
}

fn refusal(api: Api, rng: &mut Random) -> Plan {
    let (status, message) = match rng.between(0, 1) {
        0 => (429, "Rate limit reached for requests: try again in 20s"),
        _ => (500, "The server had an error while processing your request"),
    };
    let at = Duration::from_millis(rng.between(20, 120));
    let body = Event::fixed(dialect::of(api).refusal(status, message));
    let steps = vec![Step { at, act: Act::Make(body) }, Step { at, act: Act::Write }];
    Plan { status, content_type: "application/json", ..Plan::stream(api, steps) }
}

/// Converts a response to steps.
struct Script<'a> {
    scenario: &'a Scenario,
    kind: Kind,
    answer: &'a Answer,
    rng: Random,
}

impl Script<'_> {
    /// The steps, and the ending if the fault ends the stream early.
    fn steps(mut self) -> (Vec<Step>, Option<Ending>) {
        let mut line = Timeline::new(self.kind == Kind::Buffered);
        self.begin(&mut line);
        match self.go_on(&mut line) {
            Some(early) => (line.steps, Some(early)),
            None => {
                self.finish(&mut line);
                (line.release(), None)
            }
        }
    }

    /// The way through the backend, the time in the queue, the opening events, and the first token with the server's
    /// time to it.
    fn begin(&mut self, line: &mut Timeline) {
        let dialect = dialect::of(self.answer.api);
        let first = self.first_token();
        let seeded = first.mul_f64(self.rng.share() * 0.2);
        let queue = self.scenario.pace.queue.map_or(seeded, |queue| queue.min(first));
        self.reach_engine(line, first - queue);
        line.now += queue;
        line.push(Act::Pass(Station::Scheduled));
        line.send(dialect.opening(self.answer));
        line.now = first;
        let told = self.answer.api.has_comments().then(first_token_comment);
        line.send(told.into_iter().chain([dialect.delta(self.answer, 0)]));
    }

    /// The app's own work, its call of the model, and the gateway's work: a part of the time outside the queue.
    fn reach_engine(&mut self, line: &mut Timeline, outside: Duration) {
        // Nothing in Ollama's stream has an id that the backend could name.
        if dialect::of(self.answer.api).id(self.answer).is_some() {
            for (station, most) in
                [(Station::ModelCall, 0.15), (Station::Gateway, 0.03), (Station::Engine, 0.05)]
            {
                line.now += outside.mul_f64(most * self.rng.share());
                line.push(Act::Pass(station));
            }
        }
    }

    /// The other deltas, with the scenario's fault in the middle. Returns the ending if the fault ends the
    /// stream.
    fn go_on(&mut self, line: &mut Timeline) -> Option<Ending> {
        let dialect = dialect::of(self.answer.api);
        let total = self.answer.words.len();
        for at in 1..total {
            line.now += self.gap();
            let mut delta = dialect.delta(self.answer, at);
            if at == total / 2 {
                match self.kind {
                    Kind::Stall => line.now += STALL,
                    Kind::CutSocket => return Some(Ending::Cut),
                    Kind::CutClean => return Some(Ending::Close),
                    Kind::ProviderError => {
                        line.send(dialect.failure(self.answer, at));
                        return Some(Ending::Close);
                    }
                    Kind::Malformed => delta = delta.torn(),
                    _ => {}
                }
            }
            line.send([delta]);
        }
        None
    }

    fn finish(&mut self, line: &mut Timeline) {
        line.now += Duration::from_millis(self.rng.between(1, 5));
        let output_tokens = self.answer.output_tokens();
        let told = self.answer.api.has_comments().then(|| generation_comment(output_tokens));
        line.send(told.into_iter().chain(dialect::of(self.answer.api).closing(self.answer)));
    }

    fn first_token(&mut self) -> Duration {
        let seeded = match self.kind {
            Kind::SlowFirstToken => 3_000,
            _ => self.rng.between(80, 400),
        };
        self.scenario.pace.first.unwrap_or(Duration::from_millis(seeded))
    }

    fn gap(&mut self) -> Duration {
        let (low, high) = match self.kind {
            Kind::Buffered => (35, 50),
            Kind::UserStops => (40, 60),
            _ => (8, 25),
        };
        let seeded = Duration::from_millis(self.rng.between(low, high));
        match self.scenario.pace.gap {
            // A requested pace keeps some variation, as real streams have.
            Some(gap) => gap.mul_f64(0.75 + self.rng.share() * 0.5),
            None => seeded,
        }
    }
}

/// Steps with ascending times.
struct Timeline {
    now: Duration,
    steps: Vec<Step>,
    /// Simulates a proxy that buffers all writes until [`Timeline::release`].
    held: bool,
}

impl Timeline {
    const fn new(held: bool) -> Self {
        Self { now: Duration::ZERO, steps: Vec::new(), held }
    }

    fn push(&mut self, act: Act) {
        self.steps.push(Step { at: self.now, act });
    }

    /// Creates the events now and writes them in one piece.
    fn send(&mut self, events: impl IntoIterator<Item = Event>) {
        let before = self.steps.len();
        for event in events {
            self.push(Act::Make(event));
        }
        if !self.held && self.steps.len() > before {
            self.push(Act::Write);
        }
    }

    fn release(mut self) -> Vec<Step> {
        if self.held {
            self.now = self.now.max(HELD_AT_LEAST);
            self.push(Act::Write);
        }
        self.steps
    }
}

/// Long enough to count as a stall, which is a gap over two seconds.
const STALL: Duration = Duration::from_millis(2_600);

/// The probe recognises buffering only in a response that took over a second.
const HELD_AT_LEAST: Duration = Duration::from_millis(1_200);

#[cfg(test)]
mod tests;

//! What goes out when: JSON of ended streams and the collector's answers come in, bodies go out.
//! Time is an argument; the facade makes the requests.

use std::mem;

use beacon::Dropped;

use crate::json::to_json;

/// Final reports until the collector has answered for them. One body is under way at a time.
#[derive(Default)]
pub(crate) struct Outbox {
    /// The oldest first.
    waiting: Vec<String>,
    under_way: Option<Vec<String>>,
    /// When the next body may go; `None` while nothing waits.
    due: Option<f64>,
    /// After a failure nothing goes before this.
    not_before: f64,
    failures: u32,
    /// How many of the next reports go alone: a refusal of many does not say which one it means.
    alone: usize,
    dropped: Dropped,
    /// The part of `dropped` that the body under way tells.
    told: Dropped,
}

/// What the collector said to a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Answer {
    /// 0 when none came.
    pub(crate) status: u16,
    /// `Retry-After`; 0 when it said nothing.
    pub(crate) retry_after_ms: f64,
    /// Anything from 0 to 1: keeps many pages from trying again in step.
    pub(crate) spread: f64,
}

/// One request's body as it fills.
pub(crate) struct Batch {
    body: String,
    told: Dropped,
}

impl Outbox {
    /// Queues a final report. The oldest gives way when too many wait.
    pub(crate) fn push(&mut self, now: f64, report: String) {
        if self.waiting.len() >= MAX_WAITING {
            self.waiting.remove(0);
            self.dropped.queue_full += 1;
        }
        self.waiting.push(report);
        self.hurry(now + DELAY_MS);
    }

    /// Streams whose early chunks were given up.
    pub(crate) fn lost_early(&mut self, streams: u32) {
        self.dropped.early += streams;
    }

    /// Lets what waits go at `time` at the latest.
    pub(crate) fn hurry(&mut self, time: f64) {
        if !self.waiting.is_empty() {
            self.due = earlier(self.due, Some(time));
        }
    }

    /// When the next body may go, if what waits or something else of that time is to be in it.
    /// `None` while there is nothing, or an answer is awaited.
    pub(crate) fn due_with(&self, other: Option<f64>) -> Option<f64> {
        if self.under_way.is_some() {
            return None;
        }
        Some(earlier(self.due, other)?.max(self.not_before))
    }

    /// A body to fill, which tells what was dropped.
    pub(crate) fn begin(&self) -> Batch {
        Batch { body: String::new(), told: self.dropped }
    }

    /// Puts what waits into `batch`, as far as it fits, and gives it out of its hands.
    pub(crate) fn fill(&mut self, batch: &mut Batch) -> Vec<String> {
        let limit = if self.alone > 0 { 1 } else { usize::MAX };
        let fitting = self.waiting.iter().take(limit).take_while(|report| batch.add(report)).count();
        let rest = self.waiting.split_off(fitting);
        self.due = if rest.is_empty() { None } else { Some(0.0) };
        mem::replace(&mut self.waiting, rest)
    }

    /// `taken` is on its way, and an answer will come.
    pub(crate) fn sent(&mut self, taken: Vec<String>, told: Dropped) {
        self.told = told;
        self.under_way = Some(taken);
    }

    /// It went out as the page was left: no answer will come.
    pub(crate) fn sent_blindly(&mut self, told: Dropped) {
        self.forget(told);
    }

    /// The collector's answer to the body under way.
    pub(crate) fn answered(&mut self, now: f64, answer: Answer) {
        let Some(taken) = self.under_way.take() else { return };
        let told = mem::take(&mut self.told);
        let count = taken.len();
        match answer.status {
            200..=299 => {
                self.failures = 0;
                self.alone = self.alone.saturating_sub(count);
                self.forget(told);
            }
            429 | 503 => self.retry(now, taken, answer),
            0 | 408 | 500..=599 if self.failures < MAX_RETRIES => self.retry(now, taken, answer),
            0 | 408 | 500..=599 => {
                self.failures = 0;
                self.dropped.send_failed += count as u32;
            }
            _ if count > 1 => {
                self.alone = count;
                self.put_back(now, taken);
            }
            _ => {
                self.alone = self.alone.saturating_sub(1);
                self.dropped.refused += count as u32;
            }
        }
    }

    fn retry(&mut self, now: f64, taken: Vec<String>, answer: Answer) {
        let doublings = self.failures.min(MAX_DOUBLINGS);
        let backoff = FIRST_RETRY_MS * f64::from(1_u32 << doublings) * (0.75 + answer.spread / 2.0);
        self.failures += 1;
        self.not_before = now + backoff.max(answer.retry_after_ms.min(MAX_RETRY_AFTER_MS));
        self.put_back(now, taken);
    }

    /// Before what has come since; the oldest give way when too many wait.
    fn put_back(&mut self, now: f64, mut taken: Vec<String>) {
        taken.append(&mut self.waiting);
        let excess = taken.len().saturating_sub(MAX_WAITING);
        self.dropped.queue_full += excess as u32;
        self.waiting = taken.split_off(excess);
        self.hurry(now);
    }

    fn forget(&mut self, told: Dropped) {
        self.dropped.queue_full -= told.queue_full;
        self.dropped.send_failed -= told.send_failed;
        self.dropped.refused -= told.refused;
        self.dropped.early -= told.early;
    }
}

impl Batch {
    /// Adds one report, unless the body would grow too long for a keepalive request. The first one
    /// always fits, and tells what was dropped.
    pub(crate) fn add(&mut self, report: &str) -> bool {
        let first = self.body.is_empty();
        if !first && self.body.len() + report.len() > MAX_BODY_BYTES {
            return false;
        }
        self.body.push_str(if first { "{\"reports\":[" } else { "," });
        self.body.push_str(report);
        if first && self.told != Dropped::default() {
            // Reports carry no `dropped` of their own: it goes before the closing brace.
            self.body.pop();
            self.body.push_str(",\"dropped\":");
            self.body.push_str(&to_json(&self.told));
            self.body.push('}');
        }
        true
    }

    /// The body and what it tells of drops. `None` when nothing was added.
    pub(crate) fn finish(mut self) -> Option<(String, Dropped)> {
        if self.body.is_empty() {
            return None;
        }
        self.body.push_str("]}");
        Some((self.body, self.told))
    }
}

fn earlier(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// Reports of streams that end together share a request.
pub(crate) const DELAY_MS: f64 = 1_000.0;
/// Browsers allow 64 KiB for all keepalive requests under way together.
const MAX_BODY_BYTES: usize = 60_000;
const MAX_WAITING: usize = 200;
const MAX_RETRIES: u32 = 4;
const FIRST_RETRY_MS: f64 = 1_000.0;
const MAX_DOUBLINGS: u32 = 6;
const MAX_RETRY_AFTER_MS: f64 = 600_000.0;

#[cfg(test)]
mod tests {
    use beacon::StreamReport;

    use super::*;

    fn report(id: u32) -> String {
        to_json(&StreamReport::new(id.to_string()))
    }

    fn answer(status: u16) -> Answer {
        Answer { status, retry_after_ms: 0.0, spread: 0.5 }
    }

    /// Sends what is due at `now`; the ids and what was told of drops.
    fn send(outbox: &mut Outbox, now: f64) -> (Vec<String>, Option<Dropped>) {
        if outbox.due_with(None).is_none_or(|due| due > now) {
            return (Vec::new(), None);
        }
        let mut batch = outbox.begin();
        let taken = outbox.fill(&mut batch);
        let (body, told) = batch.finish().unwrap();
        outbox.sent(taken, told);
        assert!(body.len() <= MAX_BODY_BYTES + 2);
        let reports = serde_json::from_str::<beacon::Batch>(&body).unwrap().reports;
        let dropped = reports.first().and_then(|report| report.dropped);
        (reports.into_iter().map(|report| report.id).collect(), dropped)
    }

    fn filled(reports: u32) -> Outbox {
        let mut outbox = Outbox::default();
        for id in 0..reports {
            outbox.push(0.0, report(id));
        }
        outbox
    }

    #[test]
    fn reports_of_one_second_share_a_body() {
        let mut outbox = filled(1);
        outbox.push(900.0, report(1));
        assert_eq!(outbox.due_with(None), Some(DELAY_MS));
        assert_eq!(send(&mut outbox, DELAY_MS).0, ["0", "1"]);
    }

    #[test]
    fn a_body_stays_below_the_keepalive_budget_and_the_rest_follows_at_once() {
        let mut outbox = Outbox::default();
        for id in 0..MAX_WAITING as u32 {
            let mut report = StreamReport::new(id.to_string());
            report.finish_reason = Some("x".repeat(400).into());
            outbox.push(0.0, to_json(&report));
        }
        let mut seen = 0;
        while seen < MAX_WAITING {
            let sent = send(&mut outbox, DELAY_MS).0;
            assert!(!sent.is_empty());
            seen += sent.len();
            outbox.answered(DELAY_MS, answer(204));
        }
        assert_eq!(outbox.due_with(None), None);
    }

    #[test]
    fn the_queue_is_bounded_and_tells_what_it_dropped_until_that_arrived() {
        let mut outbox = filled(MAX_WAITING as u32 + 3);
        let told = Some(Dropped { queue_full: 3, ..Dropped::default() });
        assert_eq!(send(&mut outbox, DELAY_MS).1, told);
        outbox.answered(DELAY_MS, answer(0));
        assert_eq!(send(&mut outbox, 10_000.0).1, told);
        outbox.answered(10_000.0, answer(204));
        outbox.push(10_000.0, report(1));
        assert_eq!(send(&mut outbox, 20_000.0).1, None);
    }

    #[test]
    fn a_failure_is_tried_again_ever_later_and_then_counted() {
        let mut outbox = filled(1);
        let mut now = DELAY_MS;
        for pause in [1_000.0, 2_000.0, 4_000.0, 8_000.0] {
            assert_eq!(send(&mut outbox, now).0, ["0"]);
            outbox.answered(now, answer(0));
            assert_eq!(outbox.due_with(None), Some(now + pause));
            now += pause;
        }
        send(&mut outbox, now);
        outbox.answered(now, answer(0));
        assert_eq!((outbox.due_with(None), outbox.dropped.send_failed), (None, 1));
    }

    #[test]
    fn a_busy_collector_says_when_to_come_back() {
        for status in [429, 503] {
            let mut outbox = filled(1);
            send(&mut outbox, DELAY_MS);
            outbox.answered(DELAY_MS, Answer { retry_after_ms: 30_000.0, ..answer(status) });
            assert_eq!(outbox.due_with(None), Some(DELAY_MS + 30_000.0));
        }
    }

    #[test]
    fn one_bad_report_does_not_take_others_with_it() {
        let mut outbox = filled(3);
        assert_eq!(send(&mut outbox, DELAY_MS).0.len(), 3);
        outbox.answered(DELAY_MS, answer(400));
        let mut told = Vec::new();
        for (id, status) in [("0", 204), ("1", 400), ("2", 204)] {
            let (ids, dropped) = send(&mut outbox, DELAY_MS);
            assert_eq!(ids, [id]);
            told.extend(dropped);
            outbox.answered(DELAY_MS, answer(status));
        }
        assert_eq!(told, [Dropped { refused: 1, ..Dropped::default() }]);
        assert_eq!(outbox.due_with(None), None);
    }
}

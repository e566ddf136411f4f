//! Streams of the past for the dashboard of a demo, as lines for `llm-rum import`. One provider has an incident, and a
//! new release is rolled out.

use std::time::Duration;

use beacon::StreamReport;
use serde::Serialize;

use super::mix::{State, Visit};
use crate::answer::Random;

/// Settings of the history.
#[derive(Debug, Clone, Copy)]
pub struct History {
    /// Its end, as the time since 1970.
    pub until: Duration,
    /// Its length.
    pub minutes: u32,
    /// Number of streams.
    pub streams: u32,
    /// The same seed gives the same streams.
    pub seed: u64,
}

/// A report as `/v1/streams` lists it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a StreamReport,
    site: &'static str,
    country: &'static str,
    received_ms: u64,
}

impl History {
    /// The lines, in the order of their arrival.
    #[must_use]
    pub fn lines(self) -> Vec<String> {
        let mut random = Random::new(self.seed);
        let length = Duration::from_secs(60 * u64::from(self.minutes));
        let mut lines: Vec<_> = (0..self.streams)
            .map(|_| {
                let at = length.mul_f64(position(&mut random));
                let before_end = (length.saturating_sub(at)).as_secs_f64() / 60.0;
                let visit = Visit::draw(&mut random, State::before_end(before_end));
                let (site, country) = (visit.site, visit.country);
                let wall = self.until.saturating_sub(length) + at;
                let report = visit.simulate(wall, random.bits());
                let lasted = Duration::from_secs_f64(report.close_ms.unwrap_or_default() / 1e3);
                let received_ms = (wall + lasted).as_millis() as u64;
                let line = Line { report: &report, site, country, received_ms };
                (received_ms, serde_json::to_string(&line).expect("a report is always JSON"))
            })
            .filter(|(received_ms, _)| u128::from(*received_ms) < self.until.as_millis())
            .collect();
        lines.sort_by_key(|(received_ms, _)| *received_ms);
        lines.into_iter().map(|(_, line)| line).collect()
    }
}

impl State {
    /// The state so many minutes before the end of the history.
    fn before_end(minutes: f64) -> Self {
        let is_incident = INCIDENT_MINUTES.contains(&minutes);
        Self {
            release_share: ((ROLLOUT_MINUTES - minutes) / ROLLOUT_TAKES).clamp(0.0, 1.0),
            provider_queue_ms: is_incident.then_some(QUEUE_MS),
        }
    }
}

/// A position in the history, from 0 to 1: traffic goes up and down by a third, twice.
fn position(random: &mut Random) -> f64 {
    loop {
        let position = random.share();
        let rate = 1.0 + (position * 2.0 * std::f64::consts::TAU).sin() / 3.0;
        if random.share() * 4.0 / 3.0 < rate {
            return position;
        }
    }
}

/// Minutes before the end in which requests wait in the provider's queue.
const INCIDENT_MINUTES: std::ops::Range<f64> = 14.0..26.0;

/// Longest time in the queue. Half of the requests wait longer than the chat target allows.
const QUEUE_MS: f64 = 9_000.0;

/// Start of the rollout of the new release, in minutes before the end, and its duration.
const ROLLOUT_MINUTES: f64 = 45.0;
const ROLLOUT_TAKES: f64 = 10.0;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn lines() -> Vec<Value> {
        let until = Duration::from_hours(500_000);
        let history = History { until, minutes: 60, streams: 2_000, seed: 7 };
        history.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Median time to first token of a provider's streams that arrived in these minutes before the end.
    fn median_ttft(lines: &[Value], provider: &str, minutes: std::ops::Range<f64>) -> f64 {
        let until_ms = 500_000.0 * 3_600_000.0;
        let arrived = |line: &&Value| {
            let before_end = (until_ms - line["received_ms"].as_f64().unwrap()) / 60_000.0;
            line["provider"] == provider && minutes.contains(&before_end)
        };
        let mut waits: Vec<_> =
            lines.iter().filter(arrived).filter_map(|line| line["ttft_ms"].as_f64()).collect();
        waits.sort_by(f64::total_cmp);
        waits[waits.len() / 2]
    }

    #[test]
    fn streams_have_two_sites_and_two_releases() {
        let lines = lines();
        assert!((1_950..=2_000).contains(&lines.len()), "{}", lines.len());
        assert!(lines.is_sorted_by_key(|line| line["received_ms"].as_u64()));
        for (field, value) in [("site", "helpdesk"), ("site", "ide")] {
            assert!(lines.iter().any(|line| line[field] == value), "{field} {value}");
        }
        for release in ["2.7.3", "2.8.0"] {
            assert!(lines.iter().any(|line| line["page"]["release"] == release), "{release}");
        }
    }

    #[test]
    fn streams_with_an_id_have_all_layers() {
        let lines = lines();
        let with_id: Vec<_> = lines.iter().filter(|line| line["response_id"].is_string()).collect();
        assert!(with_id.len() > 1_500, "{}", with_id.len());
        for line in &with_id {
            for layer in ["edge", "app", "model_call", "gateway", "engine"] {
                assert!(line["layers"][layer]["duration_ms"].is_number(), "{layer}: {line}");
            }
        }
        let engine = |line: &&&Value| line["layers"]["engine"]["tokens_after_gone"].as_u64() > Some(0);
        let ran_on: Vec<_> = with_id.iter().filter(engine).collect();
        assert!(!ran_on.is_empty());
        let left = [json!("aborted"), json!("abandoned")];
        assert!(ran_on.iter().all(|line| left.contains(&line["outcome"])), "{ran_on:?}");
        let without = lines.iter().filter(|line| line["response_id"].is_null());
        assert!(without.clone().count() > 0 && without.clone().all(|line| line["layers"].is_null()));
    }

    #[test]
    fn the_incident_slows_one_provider() {
        let lines = lines();
        let during = 15.0..24.0;
        assert!(median_ttft(&lines, "northlight", 30.0..60.0) < 700.0);
        assert!(median_ttft(&lines, "northlight", during.clone()) > 2_500.0);
        assert!(median_ttft(&lines, "harbor", during) < 900.0);
    }
}

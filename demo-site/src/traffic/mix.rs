//! Draws a simulated user at random: the model and scenario, the page, and when the user leaves.

use std::borrow::Cow;
use std::time::Duration;

use beacon::Page;
use probe_core::End;

use crate::answer::Random;
use crate::api::Api;

/// One simulated stream.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) id: String,
    /// Name and key of the site.
    pub(super) site: &'static str,
    /// Two-letter code.
    pub(super) country: &'static str,
    /// Path segment with its pace.
    pub(super) scenario: String,
    /// Time between browser and server, there and back.
    pub(super) round_trip: Duration,
    pub(super) model: &'static Model,
    pub(super) page: Page,
    /// Set if the user stops reading after this time and leaves or presses Stop.
    pub(super) leaves: Option<Departure>,
    /// The user leaves after this time if no text is visible.
    pub(super) patience: Departure,
}

/// When and how a user leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Departure {
    pub(super) after: Duration,
    pub(super) end: End,
}

impl Departure {
    fn draw(random: &mut Random, after: Duration) -> Self {
        let end = if random.between(0, 3) == 0 { End::PageGone } else { End::Cancelled };
        Self { after, end }
    }
}

/// A fictional model: its numbers describe no real one.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) name: &'static str,
    site: &'static str,
    /// Purpose of the model in the app.
    pub(super) use_case: &'static str,
    /// Provider that the app passes to the probe. `None`: the probe detects it from the content.
    pub(super) provider: Option<&'static str>,
    pub(super) api: Api,
    /// Median time to first token in milliseconds.
    first_ms: f64,
    /// Its spread: standard deviation of the logarithm.
    spread: f64,
    gap_ms: f64,
    deltas: (u64, u64),
    weight: u32,
    scenarios: &'static [Share],
}

/// Name of a row of [`crate::scenario::TABLE`], and its frequency per thousand streams.
type Share = (&'static str, u32);

impl Visit {
    pub(super) fn draw(random: &mut Random, state: State) -> Self {
        let model = weighted(random, MODELS, |model| model.weight);
        let (scenario, _) = *weighted(random, model.scenarios, |&(_, weight)| weight);
        let first_ms = (model.first_ms * (model.spread * bell(random)).exp()).clamp(40.0, 12_000.0);
        let gap_ms = model.gap_ms * (0.25 * bell(random)).exp();
        let deltas = random.between(model.deltas.0, model.deltas.1);
        let leaves = match scenario {
            "user_stops" => {
                let after = Duration::from_millis(random.between(200, 3_000));
                Some(Departure::draw(random, after))
            }
            _ => None,
        };
        let patience = Duration::from_millis((PATIENCE_MS * (0.9 * bell(random)).exp()) as u64);
        let patience = Departure::draw(random, patience);
        let (first_ms, queue_ms) = match state.provider_queue_ms {
            Some(queue_ms) if model.provider == Some(QUEUED_PROVIDER) => {
                let queue_ms = queue_ms * random.share();
                (first_ms + queue_ms, format!(";queue={queue_ms:.0}"))
            }
            _ => (first_ms, String::new()),
        };
        let pace = match scenario {
            // No limit on the deltas: the user leaves before the minute is over.
            "user_stops" => format!(";first={first_ms:.0}{queue_ms};gap={gap_ms:.0}"),
            "slow_first_token" | "http_error" | "empty" => String::new(),
            _ => format!(";first={first_ms:.0}{queue_ms};gap={gap_ms:.0};deltas={deltas}"),
        };
        let id = format!("{:016x}{:016x}", random.bits(), random.bits());
        let &(country, round_trip_ms, _) = weighted(random, COUNTRIES, |row| row.2);
        let page = page(random, state.release_share);
        let slower = if page.connection.as_deref() == Some("3g") { 4.0 } else { 1.0 };
        let round_trip_ms = slower * round_trip_ms * (0.4 * bell(random)).exp();
        Self {
            id,
            site: model.site,
            country,
            scenario: format!("{scenario}{pace}"),
            round_trip: Duration::from_secs_f64(round_trip_ms / 1e3),
            model,
            page,
            leaves,
            patience,
        }
    }
}

/// State of the simulated service.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// Share of pages that have the new release.
    pub(super) release_share: f64,
    /// Longest time in the queue of the provider that has an incident. `None` without an incident.
    pub(super) provider_queue_ms: Option<f64>,
}

impl State {
    /// All pages have the new release, and there is no incident.
    pub(super) const NOW: Self = Self { release_share: 1.0, provider_queue_ms: None };
}

fn page(random: &mut Random, release_share: f64) -> Page {
    let &(version, os, device, _) = weighted(random, BROWSERS, |row| row.3);
    let browser = version.split_once(' ').map_or(version, |(family, _)| family);
    let told = |word: &'static str| Some(Cow::Borrowed(word));
    // Only Chromium reveals the class of its connection.
    let connection =
        matches!(browser, "chrome" | "edge").then(|| if random.between(0, 9) == 0 { "3g" } else { "4g" });
    let visibility = *weighted(random, VISIBILITY, |row| row.1);
    Page {
        browser: told(browser),
        browser_version: told(version),
        os: told(os),
        device: told(device),
        connection: connection.map(Cow::Borrowed),
        visibility: told(visibility.0),
        release: told(if random.share() < release_share { "2.8.0" } else { "2.7.3" }),
        route: told(if random.between(0, 3) == 0 { "/" } else { "/chat/:id" }),
    }
}

fn weighted<'a, T>(random: &mut Random, rows: &'a [T], weight: impl Fn(&T) -> u32) -> &'a T {
    let total: u32 = rows.iter().map(&weight).sum();
    let mut left = random.between(0, u64::from(total) - 1) as u32;
    for row in rows {
        let own = weight(row);
        if left < own {
            return row;
        }
        left -= own;
    }
    unreachable!("the weights add up to the total")
}

/// Approximately a standard normal number: the sum of twelve uniform ones.
fn bell(random: &mut Random) -> f64 {
    (0..12).map(|_| random.share()).sum::<f64>() - 6.0
}

/// Median time that users wait for text. One in twenty leaves within 2 s, one in four within 5 s.
const PATIENCE_MS: f64 = 9_000.0;

const MODELS: &[Model] = &[
    Model {
        name: "aurora-mini",
        site: "helpdesk",
        use_case: "chat",
        provider: Some("northlight"),
        api: Api::OpenaiChat,
        first_ms: 280.0,
        spread: 0.4,
        gap_ms: 10.0,
        deltas: (40, 120),
        weight: 34,
        scenarios: ORDINARY,
    },
    Model {
        name: "aurora-large",
        site: "helpdesk",
        use_case: "chat",
        provider: Some("northlight"),
        api: Api::OpenaiResponses,
        first_ms: 640.0,
        spread: 0.4,
        gap_ms: 20.0,
        deltas: (40, 100),
        weight: 22,
        scenarios: ORDINARY,
    },
    Model {
        name: "harbor-3",
        site: "helpdesk",
        use_case: "chat",
        provider: Some("harbor"),
        api: Api::Anthropic,
        first_ms: 540.0,
        spread: 0.45,
        gap_ms: 16.0,
        deltas: (40, 110),
        weight: 22,
        scenarios: ORDINARY,
    },
    Model {
        name: "pebble-8b",
        site: "ide",
        use_case: "completion",
        provider: None,
        api: Api::Ollama,
        first_ms: 200.0,
        spread: 0.6,
        gap_ms: 26.0,
        deltas: (30, 80),
        weight: 8,
        scenarios: ORDINARY,
    },
    Model {
        name: "harbor-3",
        site: "ide",
        use_case: "coding",
        provider: Some("harbor"),
        api: Api::Anthropic,
        first_ms: 620.0,
        spread: 0.45,
        gap_ms: 16.0,
        deltas: (60, 140),
        weight: 9,
        scenarios: ORDINARY,
    },
    Model {
        name: "pebble-70b",
        site: "ide",
        use_case: "coding",
        provider: Some("in-house"),
        api: Api::OpenaiChat,
        first_ms: 1_100.0,
        spread: 0.5,
        gap_ms: 34.0,
        deltas: (30, 70),
        weight: 5,
        scenarios: TROUBLED,
    },
];

/// A normal day of a good service: two of a thousand streams fail.
const ORDINARY: &[Share] = &[
    ("normal", 926),
    ("slow_first_token", 1),
    ("stall", 8),
    ("cut_socket", 1),
    ("provider_error", 1),
    ("malformed", 2),
    ("buffered", 12),
    ("user_stops", 49),
];

/// An overloaded service with few machines: four of a hundred streams fail, in all possible ways.
const TROUBLED: &[Share] = &[
    ("normal", 846),
    ("slow_first_token", 40),
    ("stall", 30),
    ("cut_socket", 10),
    ("cut_clean", 10),
    ("provider_error", 10),
    ("malformed", 4),
    ("http_error", 7),
    ("empty", 3),
    ("user_stops", 40),
];

/// Provider that has the incident.
const QUEUED_PROVIDER: &str = "northlight";

/// Country, median round trip in milliseconds, and frequency per hundred.
const COUNTRIES: &[(&str, f64, u32)] = &[
    ("US", 45.0, 34),
    ("DE", 30.0, 20),
    ("GB", 35.0, 12),
    ("FR", 34.0, 9),
    ("IN", 140.0, 10),
    ("BR", 120.0, 7),
    ("JP", 95.0, 5),
    ("AU", 160.0, 3),
];

/// Browser, operating system, device, and frequency per hundred.
const BROWSERS: &[(&str, &str, &str, u32)] = &[
    ("chrome 156", "windows", "desktop", 30),
    ("chrome 155", "android", "mobile", 22),
    ("safari 26", "ios", "mobile", 18),
    ("chrome 156", "macos", "desktop", 11),
    ("edge 156", "windows", "desktop", 7),
    ("safari 26", "macos", "desktop", 6),
    ("firefox 153", "linux", "desktop", 4),
    ("safari 18", "ios", "tablet", 2),
];

const VISIBILITY: &[(&str, u32)] = &[("visible", 90), ("mixed", 8), ("hidden", 2)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn every_drawn_path_names_a_scenario_and_ids_are_unique() {
        let mut random = Random::new(1);
        let mut ids: Vec<_> = (0..2_000)
            .map(|_| {
                let visit = Visit::draw(&mut random, State::NOW);
                visit.scenario.parse::<Scenario>().unwrap();
                assert_eq!(visit.id.len(), 32);
                visit.id
            })
            .collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 2_000);
    }

    #[test]
    fn nearly_all_visits_are_normal_and_every_fault_occurs() {
        let mut random = Random::new(2);
        let drawn: Vec<_> = (0..20_000).map(|_| Visit::draw(&mut random, State::NOW).scenario).collect();
        let share = |name: &str| drawn.iter().filter(|path| path.split(';').next() == Some(name)).count();
        assert!((18_300..18_600).contains(&share("normal")), "{}", share("normal"));
        for (name, _) in ORDINARY.iter().chain(TROUBLED) {
            assert!(share(name) > 0, "{name}");
        }
    }

    #[test]
    fn visitors_leave_after_waits_of_different_lengths() {
        let mut random = Random::new(3);
        let drawn: Vec<_> =
            (0..10_000).map(|_| Visit::draw(&mut random, State::NOW).patience.after).collect();
        let gone_after = |seconds| drawn.iter().filter(|after| after.as_secs_f64() < seconds).count();
        assert!((350..600).contains(&gone_after(2.0)), "{}", gone_after(2.0));
        assert!((2_300..2_800).contains(&gone_after(5.0)), "{}", gone_after(5.0));
        assert!((9_000..9_600).contains(&gone_after(30.0)), "{}", gone_after(30.0));
    }

    #[test]
    fn weights_of_the_traffic_mix_sum_to_1000() {
        for scenarios in [ORDINARY, TROUBLED] {
            assert_eq!(scenarios.iter().map(|(_, share)| share).sum::<u32>(), 1_000);
        }
    }
}

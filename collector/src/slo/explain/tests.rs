//! Worlds of random streams, with and without an incident.

use std::collections::BTreeMap;

use super::*;

/// A small random generator (SplitMix64), so that each world can be made again from its number.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of the words; the first are more frequent.
    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let (one, other) = (self.next() as usize % words.len(), self.next() as usize % words.len());
        words[one.min(other)]
    }

    fn happens(&mut self, share: f64) -> bool {
        ((self.next() >> 11) as f64) < share * 2_f64.powi(53)
    }
}

const MINUTES: i64 = 60;
const MINUTE_MS: i64 = 60_000;
const RELEASE_MINUTE: i64 = 26;

type Values = BTreeMap<&'static str, &'static str>;

/// A stream without an incident: release v42 follows v41 at a known minute, and everything else is independent, except
/// that Safari runs on Apple's systems alone.
fn values(random: &mut Random, minute: i64) -> Values {
    let browser = random.one_of(&["chrome", "safari", "firefox", "edge"]);
    let os = match browser {
        "safari" => random.one_of(&["ios", "macos"]),
        _ => random.one_of(&["windows", "android", "macos", "linux"]),
    };
    [
        ("browser", browser),
        ("os", os),
        ("release", if minute < RELEASE_MINUTE { "v41" } else { "v42" }),
        ("country", random.one_of(&["US", "DE", "IN", "BR", "JP", "FR", "NG"])),
        ("model", random.one_of(&["large", "small", "tiny"])),
        ("response_model", random.one_of(&["large-0801", "large-1015", "small-0801", "tiny"])),
        ("provider", random.one_of(&["one", "two", "three"])),
        ("route", random.one_of(&["/chat", "/search", "/write", "/admin", "/docs"])),
        ("prompt_size", random.one_of(&["up to 256", "1k to 4k", "above 64k"])),
    ]
    .into()
}

/// Streams of which a share is slow by chance, and all of an incident.
fn world(seed: u64, streams: usize, usual: f64, is_hit: impl Fn(&Values, i64) -> bool) -> Streams {
    let mut random = Random(seed);
    let mut world = Streams::default();
    for _ in 0..streams {
        let minute = random.next() as i64 % MINUTES;
        let minute = minute.abs();
        let values = values(&mut random, minute);
        let hit = is_hit(&values, minute) && random.happens(0.9);
        let is_slow = hit || random.happens(usual);
        let cause = is_slow.then_some(if hit { "main_thread" } else { "server" });
        world.add(minute * MINUTE_MS, is_slow, cause, values);
    }
    world
}

fn named(finding: &Finding) -> Vec<String> {
    finding.values.iter().map(|value| format!("{}={}", value.dimension, value.value)).collect()
}

/// What is blamed in ten worlds with the same incident.
fn blamed(is_hit: impl Fn(&Values, i64) -> bool + Copy) -> Vec<Vec<Vec<String>>> {
    let blamed = |seed| world(seed, 2_100, 0.02, is_hit).findings(MINUTE_MS).iter().map(named).collect();
    (0..10).map(blamed).collect()
}

#[test]
fn without_an_incident_nothing_is_blamed() {
    for seed in 0..100 {
        let usual = [0.01, 0.05, 0.2][seed as usize % 3];
        let found = world(seed, 2_000, usual, |_, _| false).findings(MINUTE_MS);
        assert!(found.is_empty(), "world {seed}: {found:?}");
    }
}

fn appeared(finding: &Finding) -> Vec<&str> {
    finding.began_with.iter().map(|value| value.value.as_str()).collect()
}

#[test]
fn a_browser_slow_since_a_release_is_named_with_it() {
    for seed in 0..10 {
        let is_hit = |values: &Values, _| values["release"] == "v42" && values["browser"] == "firefox";
        let found = world(seed, 2_100, 0.02, is_hit).findings(MINUTE_MS);
        let [finding] = &found[..] else { panic!("world {seed}: {found:?}") };
        assert_eq!(named(finding), ["browser=firefox"], "world {seed}");
        assert_eq!(appeared(finding), ["v42"], "world {seed}");
        assert!(finding.same.is_empty(), "{finding:?}");
        let since = finding.since_ms.expect("a start") / MINUTE_MS;
        assert!((RELEASE_MINUTE - 1..=RELEASE_MINUTE + 1).contains(&since), "world {seed}: {since}");
        assert_eq!(finding.cause.as_ref().map(|cause| cause.name), Some("main_thread"));
        assert!(finding.share_of_affected > 0.7 && finding.share_of_rest < 0.1, "{finding:?}");
        assert!(finding.excess_lower > 0.5 && finding.excess_upper < 1.0, "{finding:?}");
    }
}

#[test]
fn a_release_beside_the_old_one_is_named_with_its_browser() {
    for seed in 0..10 {
        let mut random = Random(seed);
        let mut streams = Streams::default();
        for _ in 0..2_100 {
            let minute = (random.next() % 60) as i64;
            let mut values = values(&mut random, minute);
            let release = if minute >= RELEASE_MINUTE && random.happens(0.5) { "v42" } else { "v41" };
            values.insert("release", release);
            let is_hit = release == "v42" && values["browser"] == "firefox";
            streams.add(minute * MINUTE_MS, random.happens(if is_hit { 0.9 } else { 0.02 }), None, values);
        }
        let found = streams.findings(MINUTE_MS);
        let [finding] = &found[..] else { panic!("world {seed}: {found:?}") };
        let mut names = named(finding);
        names.sort();
        assert_eq!(names, ["browser=firefox", "release=v42"], "world {seed}");
    }
}

#[test]
fn a_release_that_came_before_an_incident_is_not_blamed() {
    for found in blamed(|values, minute| (34..45).contains(&minute) && values["provider"] == "two") {
        assert_eq!(found, [["provider=two"]]);
    }
    for seed in 0..10 {
        // Everybody waits: nothing explains it but the time.
        let found = world(seed, 2_100, 0.02, |_, minute| (34..45).contains(&minute)).findings(MINUTE_MS);
        assert!(found.is_empty(), "world {seed}: {found:?}");
    }
}

#[test]
fn a_single_value_is_blamed_alone() {
    let of = |dimension: &'static str, value: &'static str| {
        blamed(move |values, minute| minute >= 10 && values[dimension] == value)
    };
    for (dimension, value) in [
        ("route", "/admin"),
        ("country", "IN"),
        ("response_model", "large-1015"),
        ("prompt_size", "above 64k"),
    ] {
        for found in of(dimension, value) {
            assert_eq!(found, [[format!("{dimension}={value}")]]);
        }
    }
}

#[test]
fn two_independent_incidents_are_two_findings() {
    for mut found in blamed(|values, _| values["country"] == "JP" || values["route"] == "/docs") {
        found.sort();
        assert_eq!(found, [["country=JP"], ["route=/docs"]]);
    }
}

#[test]
fn values_of_the_same_streams_are_named_together() {
    let mut streams = Streams::default();
    for number in 0..500 {
        let is_new = number % 5 == 0;
        let (release, route) = if is_new { ("v42", "/new") } else { ("v41", "/old") };
        let values = [("release", release), ("route", route)];
        streams.add(number * 1_000, is_new && number % 2 == 0, None, values);
    }
    let found = streams.findings(MINUTE_MS);
    let [finding] = &found[..] else { panic!("{found:?}") };
    let mut all: Vec<_> =
        finding.values.iter().chain(&finding.same).map(|value| value.value.as_str()).collect();
    all.sort_unstable();
    assert_eq!(all, ["/new", "v42"]);
}

#[test]
fn one_value_is_named_rather_than_a_pair_of_the_same_streams() {
    let mut streams = Streams::default();
    for number in 0..1_000_i64 {
        let (is_one, is_other) = (number % 3 == 0, number % 2 == 0);
        let is_both = is_one && is_other;
        // The value is a little wider than the pair, so that chance explains the pair less.
        let provider = if is_both || number % 125 == 1 { "slow" } else { "usual" };
        let values = [
            ("provider", provider),
            ("model", if is_one { "one" } else { "two" }),
            ("route", if is_other { "/a" } else { "/b" }),
        ];
        streams.add(number * 1_000, is_both, None, values);
    }
    let found = streams.findings(MINUTE_MS);
    assert_eq!(found.iter().map(named).collect::<Vec<_>>(), [["provider=slow"]]);
}

#[test]
fn few_streams_blame_nothing() {
    let mut streams = Streams::default();
    assert!(streams.findings(MINUTE_MS).is_empty());
    for number in 0..40 {
        let is_rare = number < 4;
        let value = if is_rare { "rare" } else { "usual" };
        streams.add(0, is_rare, None, [("route", value)]);
    }
    assert!(streams.findings(MINUTE_MS).is_empty());
}

#[test]
fn a_value_that_all_streams_have_is_not_blamed() {
    let mut streams = Streams::default();
    for number in 0..1_000 {
        streams.add(number, number % 2 == 0, None, [("model", "only")]);
    }
    assert!(streams.findings(MINUTE_MS).is_empty());
}

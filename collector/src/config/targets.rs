//! Targets of a use case, and whether a report meets them. Definitions: `docs/statistics.md#indicators`.

use beacon::StreamReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a target is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A duration in milliseconds.
    Milliseconds,
    /// A share of streams.
    Share,
    /// A number of streams.
    Streams,
}

/// Declares the targets once: the struct, its values by name, and how they override each other.
macro_rules! targets {
    ($($(#[$doc:meta])* $name:ident: $kind:ident,)*) => {
        /// Targets of one use case. `None` for a target that it does not have.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct Targets {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<f64>,)*
        }

        const NONE: Targets = Targets { $($name: None,)* };

        /// A table of targets as it is read.
        #[derive(Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Table {
            profile: Option<Profile>,
            $($name: Option<f64>,)*
        }

        impl From<Table> for OwnTargets {
            fn from(Table { profile, $($name,)* }: Table) -> Self {
                Self { profile, targets: Targets { $($name,)* } }
            }
        }

        impl Targets {
            /// These targets, with missing ones taken from `base`.
            #[must_use]
            pub fn or(self, base: Self) -> Self {
                Self { $($name: self.$name.or(base.$name),)* }
            }

            fn values(&self) -> impl Iterator<Item = (&'static str, Kind, Option<f64>)> {
                [$((stringify!($name), Kind::$kind, self.$name),)*].into_iter()
            }
        }
    };
}

targets! {
    /// Half of the streams show their first visible token within this.
    ttft_p50_ms: Milliseconds,
    /// 95 of 100 streams show their first visible token within this. A slower stream is not within SLO.
    ttft_p95_ms: Milliseconds,
    /// 99 of 100 streams show their first visible token within this.
    ttft_p99_ms: Milliseconds,
    /// Half of the streams end within this.
    e2e_p50_ms: Milliseconds,
    /// 95 of 100 streams end within this. A slower stream is not within SLO.
    e2e_p95_ms: Milliseconds,
    /// 99 of 100 streams end within this.
    e2e_p99_ms: Milliseconds,
    /// Longest time between two reads with generated text. With a longer one, a stream misses its pace and is
    /// not within SLO.
    longest_gap_ms: Milliseconds,
    /// Time per output token after the first. With a longer one, a stream misses its pace and is not within
    /// SLO.
    tpot_ms: Milliseconds,
    /// Share of eligible streams that end without an error.
    availability: Share,
    /// Share of eligible streams that arrive intact.
    integrity: Share,
    /// Share of streams that are within the p95 target.
    speed: Share,
    /// Share of streams within the targets of time per output token and longest gap.
    pace: Share,
    /// Share of eligible streams within SLO.
    goodput: Share,
    /// Streams that the service can serve at a time: a line in the chart of streams in flight.
    in_flight_cap: Streams,
}

/// Targets that an operator sets for a use case: a profile, and what differs from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(from = "Table")]
pub struct OwnTargets {
    /// Replaces the targets that would hold without this table.
    pub profile: Option<Profile>,
    /// What differs from them.
    pub targets: Targets,
}

impl OwnTargets {
    /// These targets over those that would hold without them.
    #[must_use]
    pub fn over(&self, base: Targets) -> Targets {
        self.targets.or(self.profile.map_or(base, |Profile(profile)| profile))
    }
}

impl From<Targets> for OwnTargets {
    fn from(targets: Targets) -> Self {
        Self { profile: None, targets }
    }
}

/// A named set of targets: a default profile of a use case, or a stricter one.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Profile(Targets);

/// Why a name is no profile.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` is no profile: there are {}", profile_names())]
pub struct ProfileError {
    name: String,
}

impl TryFrom<String> for Profile {
    type Error = ProfileError;

    fn try_from(name: String) -> Result<Self, ProfileError> {
        let known = PROFILES.into_iter().chain(STRICT_PROFILES).find(|(known, _)| *known == name);
        known.map(|(_, targets)| Self(targets)).ok_or(ProfileError { name })
    }
}

fn profile_names() -> String {
    let names = PROFILES.into_iter().chain(STRICT_PROFILES).map(|(name, _)| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

impl Targets {
    /// The default profile of a use case. A use case other than the four has no targets: its streams are
    /// within SLO if they are intact.
    #[must_use]
    pub fn of(use_case: &str) -> Self {
        PROFILES
            .into_iter()
            .find(|(name, _)| *name == use_case)
            .map(|(_, targets)| targets)
            .unwrap_or_default()
    }

    /// Whether the stream arrived intact and met every target that can be checked. A value that the report
    /// does not have, such as the time per token without a token count, misses no target.
    #[must_use]
    pub fn is_met_by(&self, report: &StreamReport) -> bool {
        let within = |value: Option<f64>, target: Option<f64>| match (value, target) {
            (Some(value), Some(target)) => value <= target,
            _ => true,
        };
        report.is_intact()
            && within(report.ttfv_ms, self.ttft_p95_ms)
            && within(report.e2e_ms, self.e2e_p95_ms)
            && within(report.longest_gap_ms, self.longest_gap_ms)
            && within(report.tpot_ms, self.tpot_ms)
    }

    /// Name of a target with an impossible value. `None` if all values are possible.
    #[must_use]
    pub fn mistake(&self) -> Option<&'static str> {
        let is_possible = |kind, value: f64| match kind {
            Kind::Milliseconds | Kind::Streams => value.is_finite() && value > 0.0,
            Kind::Share => (0.0..1.0).contains(&value),
        };
        let mut values = self.values();
        values.find_map(|(name, kind, value)| (!is_possible(kind, value?)).then_some(name))
    }

    /// Targets without effect, because a higher percentile of the same wait has a lower target. The higher
    /// percentile is one of these targets, or one of `all`, which includes defaults too. A default without
    /// effect beside a lower target is not a mistake.
    #[must_use]
    pub(crate) fn out_of_order(&self, all: &Self) -> Vec<OutOfOrder> {
        let of = |Self {
                      ttft_p50_ms, ttft_p95_ms, ttft_p99_ms, e2e_p50_ms, e2e_p95_ms, e2e_p99_ms, ..
                  }: &Self| {
            let ttft =
                [("ttft_p50_ms", *ttft_p50_ms), ("ttft_p95_ms", *ttft_p95_ms), ("ttft_p99_ms", *ttft_p99_ms)];
            let e2e = [("e2e_p50_ms", *e2e_p50_ms), ("e2e_p95_ms", *e2e_p95_ms), ("e2e_p99_ms", *e2e_p99_ms)];
            [ttft, e2e]
        };
        let mut found = Vec::new();
        for (written, all) in of(self).into_iter().zip(of(all)) {
            for (at, (lower, lower_ms)) in written.into_iter().enumerate() {
                for ((higher, higher_ms), (_, itself)) in all.into_iter().zip(written).skip(at + 1) {
                    if lower_ms.zip(higher_ms).is_some_and(|(lower_ms, higher_ms)| lower_ms > higher_ms) {
                        let default_ms = if itself.is_none() { higher_ms } else { None };
                        found.push(OutOfOrder { lower, higher, default_ms });
                    }
                }
            }
        }
        found
    }
}

/// Two targets of one wait, of which the lower percentile has the higher value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OutOfOrder {
    pub(crate) lower: &'static str,
    pub(crate) higher: &'static str,
    /// Value of the higher percentile, if it is not written but a default.
    pub(crate) default_ms: Option<f64>,
}

/// Names and values of the four default profiles. A rate in tokens per second is given as its reciprocal.
pub(crate) const PROFILES: [(&str, Targets); 4] = [
    (
        "chat",
        Targets {
            ttft_p50_ms: Some(1_000.0),
            ttft_p95_ms: Some(2_000.0),
            ttft_p99_ms: Some(5_000.0),
            longest_gap_ms: STALL_MS,
            tpot_ms: Some(80.0),
            availability: Some(0.995),
            speed: Some(0.99),
            pace: PACE,
            goodput: GOODPUT,
            ..NONE
        },
    ),
    (
        "coding",
        Targets {
            ttft_p50_ms: Some(2_000.0),
            ttft_p95_ms: Some(5_000.0),
            ttft_p99_ms: Some(10_000.0),
            longest_gap_ms: STALL_MS,
            tpot_ms: Some(60.0),
            availability: Some(0.999),
            speed: Some(0.99),
            pace: PACE,
            goodput: GOODPUT,
            ..NONE
        },
    ),
    (
        "batch_rag",
        Targets {
            e2e_p50_ms: Some(15_000.0),
            e2e_p95_ms: Some(30_000.0),
            e2e_p99_ms: Some(60_000.0),
            tpot_ms: Some(1_000.0 / 50.0),
            availability: Some(0.99),
            speed: Some(0.99),
            pace: PACE,
            goodput: GOODPUT,
            ..NONE
        },
    ),
    (
        "extraction",
        Targets {
            ttft_p50_ms: Some(500.0),
            ttft_p95_ms: Some(1_500.0),
            longest_gap_ms: STALL_MS,
            tpot_ms: Some(1_000.0 / 30.0),
            availability: Some(0.999),
            speed: Some(0.99),
            pace: PACE,
            goodput: GOODPUT,
            ..NONE
        },
    ),
];

/// Profiles that only a table of targets can name. `chat-strict` is `chat` for users who expect an answer at once,
/// `completion` is `coding` for text that appears while the user types.
const STRICT_PROFILES: [(&str, Targets); 2] = [
    (
        "chat-strict",
        Targets {
            ttft_p50_ms: Some(250.0),
            ttft_p95_ms: Some(500.0),
            ttft_p99_ms: Some(1_000.0),
            ..PROFILES[0].1
        },
    ),
    (
        "completion",
        Targets {
            ttft_p50_ms: Some(50.0),
            ttft_p95_ms: Some(100.0),
            ttft_p99_ms: Some(200.0),
            ..PROFILES[1].1
        },
    ),
];

/// A text that stands still for longer looks broken. Calls of tools within one stream are mostly shorter.
const STALL_MS: Option<f64> = Some(10_000.0);

/// The targets of pace are per stream. One slow stream in twenty is no incident.
const PACE: Option<f64> = Some(0.95);

/// Below the product of the other objectives, so that it is missed only when several of them are at their limits.
const GOODPUT: Option<f64> = Some(0.9);

#[cfg(test)]
mod tests {
    use beacon::Outcome;

    use super::*;

    fn report(ttfv_ms: Option<f64>, tpot_ms: Option<f64>) -> StreamReport {
        StreamReport { outcome: Outcome::Complete, ttfv_ms, tpot_ms, ..StreamReport::new("0") }
    }

    #[test]
    fn a_stream_is_within_slo_up_to_its_target() {
        let chat = Targets::of("chat");
        assert!(chat.is_met_by(&report(Some(2_000.0), Some(80.0))));
        assert!(!chat.is_met_by(&report(Some(2_000.1), Some(80.0))));
        assert!(!chat.is_met_by(&report(Some(2_000.0), Some(80.1))));
    }

    #[test]
    fn absent_fields_of_a_report_miss_no_target() {
        assert!(Targets::of("chat").is_met_by(&report(None, None)));
    }

    #[test]
    fn a_stream_that_is_not_intact_is_never_within_slo() {
        let cut = StreamReport { outcome: Outcome::Truncated, ..report(Some(1.0), None) };
        assert!(!Targets::of("chat").is_met_by(&cut));
    }

    #[test]
    fn a_gap_over_its_target_misses_the_slo() {
        let targets = Targets { longest_gap_ms: Some(3_000.0), ..NONE };
        let paused = |longest_gap_ms| StreamReport { longest_gap_ms, ..report(None, None) };
        assert!(targets.is_met_by(&paused(Some(3_000.0))) && targets.is_met_by(&paused(None)));
        assert!(!targets.is_met_by(&paused(Some(3_000.1))));
    }

    #[test]
    fn a_profile_replaces_what_lies_below_its_table() {
        let own: OwnTargets =
            toml::from_str("profile = 'chat-strict'\nttft_p95_ms = 700").expect("a profile and an override");
        let targets = own.over(Targets { tpot_ms: Some(1.0), ..NONE });
        assert_eq!((targets.ttft_p50_ms, targets.ttft_p95_ms), (Some(250.0), Some(700.0)));
        assert_eq!(targets.tpot_ms, Targets::of("chat").tpot_ms);
        let completion: OwnTargets = toml::from_str("profile = 'completion'").expect("a profile");
        assert_eq!(completion.over(NONE).ttft_p95_ms, Some(100.0));
        let unknown = toml::from_str::<OwnTargets>("profile = 'chat_strict'").unwrap_err().to_string();
        assert!(unknown.contains("`chat_strict` is no profile: there are `chat`, `coding`"), "{unknown}");
    }

    #[test]
    fn an_override_keeps_the_rest_of_the_profile() {
        let stricter = Targets { ttft_p95_ms: Some(1_500.0), ..NONE }.or(Targets::of("chat"));
        assert_eq!((stricter.ttft_p95_ms, stricter.ttft_p99_ms), (Some(1_500.0), Some(5_000.0)));
    }
}

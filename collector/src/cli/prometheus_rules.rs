//! `llm-rum rules`: a file of Prometheus alerts, with two windows per error budget and burn-rate alert.
//!
//! The alerts compare shares at a bucket edge, which are exact, instead of percentiles interpolated between
//! two edges. A target that is not a bucket edge therefore has no rule.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::aggregate::metric::Export;
use crate::config::Config;
use crate::config::targets::{self, Targets};
use crate::export::prometheus::names;
use crate::slo::error_budget::{BurnRateAlert, MIN_STREAMS, Objective};

/// Why no rules can be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "the target of {target_ms} ms for `{use_case}` is not the edge of a Prometheus bucket: use one of {edges}"
)]
pub struct NoRule {
    use_case: String,
    target_ms: f64,
    edges: String,
}

/// Rules for every use case with targets.
///
/// # Errors
/// If a target is not a bucket edge.
pub fn rules(config: &Config) -> Result<String, NoRule> {
    let mut file = HEAD.to_owned();
    for profile in profiles(config) {
        for objective in Objective::ALL {
            let Some(target) = objective.share(&profile.targets) else { continue };
            let Some(shares) = profile.shares(objective)? else { continue };
            let days = config.budget_days();
            for alert in BurnRateAlert::ALL {
                if alert.can_fire(days, target) {
                    profile.write(&mut file, objective, target, &shares, (alert, days));
                } else {
                    profile.leave_out(&mut file, objective, target, (alert, days));
                }
            }
        }
    }
    Ok(file)
}

/// Streams with the same targets.
pub(crate) struct Profile {
    pub(crate) use_case: String,
    /// The site that sets the targets. `None` for the targets of all other sites.
    site: Option<String>,
    /// Label matchers of a PromQL selector.
    pub(crate) labels: String,
    pub(crate) targets: Targets,
}

/// PromQL of the bad and all streams, without the window.
pub(crate) struct Shares {
    bad: String,
    all: String,
}

/// Use cases with targets. Sites with their own targets get profiles of their own.
pub(crate) fn profiles(config: &Config) -> Vec<Profile> {
    let own = config.sites.iter().flat_map(|site| site.targets.keys());
    let use_cases: BTreeSet<_> = targets::PROFILES
        .iter()
        .map(|(name, _)| *name)
        .chain(config.targets.keys().chain(own).map(String::as_str))
        .collect();
    let mut profiles = Vec::new();
    for use_case in use_cases {
        let apart: Vec<_> = config.sites.iter().filter(|site| site.targets.contains_key(use_case)).collect();
        for site in &apart {
            let labels = format!("site=\"{}\",use_case={}", site.name, quoted(use_case));
            profiles.push((use_case, Some(&site.name), labels, config.targets(Some(&site.name), use_case)));
        }
        let not_those = match apart.is_empty() {
            true => String::new(),
            false => {
                let names: Vec<_> = apart.iter().map(|site| site.name.replace('.', "\\\\.")).collect();
                format!("site!~\"{}\",", names.join("|"))
            }
        };
        let labels = format!("{not_those}use_case={}", quoted(use_case));
        profiles.push((use_case, None, labels, config.targets(None, use_case)));
    }
    let profile = |(use_case, site, labels, targets): (&str, Option<&String>, String, Targets)| Profile {
        use_case: use_case.to_owned(),
        site: site.cloned(),
        labels,
        targets,
    };
    profiles.into_iter().map(profile).collect()
}

impl Profile {
    /// `None` if the use case has no such objective.
    pub(crate) fn shares(&self, objective: Objective) -> Result<Option<Shares>, NoRule> {
        let labels = &self.labels;
        let of_judged = |bad| Shares {
            bad: format!("{bad}{{{labels}}}"),
            all: format!("{}{{{labels},{ELIGIBLE}}}", names::STREAMS),
        };
        Ok(match objective {
            Objective::Availability => Some(of_judged(names::ERRORS)),
            Objective::Integrity => Some(of_judged(names::BROKEN)),
            Objective::Speed => {
                let Some((metric, target_ms)) = self.targets.wait() else { return Ok(None) };
                let edge = self.edge(metric.export(), target_ms)?;
                let name = metric.export().prometheus;
                Some(Shares {
                    bad: format!("{name}_bucket{{{labels},le=~\"{edge}\"}}"),
                    all: format!("{name}_count{{{labels}}}"),
                })
            }
        })
    }

    /// The bucket edge as a regular expression: Prometheus 3 writes `2.0` where earlier versions wrote `2`.
    fn edge(&self, export: &Export, target_ms: f64) -> Result<String, NoRule> {
        let seconds = target_ms / 1_000.0;
        if !export.edges.contains(&seconds) {
            let edges: Vec<_> = export.edges.iter().map(|edge| (edge * 1_000.0).to_string()).collect();
            return Err(NoRule { use_case: self.use_case.clone(), target_ms, edges: edges.join(", ") });
        }
        let text = seconds.to_string();
        Ok(if text.contains('.') { text.replace('.', "\\\\.") } else { format!("{text}(\\\\.0)?") })
    }

    fn write(
        &self,
        file: &mut String,
        objective: Objective,
        target: f64,
        shares: &Shares,
        (alert, days): (BurnRateAlert, u32),
    ) {
        let (long, short) = (length(alert.long_minutes), length(alert.short_minutes));
        let bound = rounded(alert.rate(days) * (1.0 - target));
        let (word, severity, rate) = (objective.as_str(), alert.severity.as_str(), rounded(alert.rate(days)));
        let use_case = literal(&self.use_case);
        // A template can use only the labels of the series, and the use case is a label of the rule.
        let summary = format!(
            "`{{{{ $labels.site }}}}`: {use_case} burns its {word} budget at over {rate} times the sustainable rate"
        );
        let (use_case, summary) = (quoted(&use_case), quoted(&summary));
        let name = match objective {
            Objective::Availability => "LlmRumAvailabilityBudget",
            Objective::Integrity => "LlmRumIntegrityBudget",
            Objective::Speed => "LlmRumSpeedBudget",
        };
        // The alert has this label anyway. Without it, rule checkers report rules with the same name and
        // labels as duplicates.
        let site = self.site.as_ref().map(|site| format!(", site: \"{site}\"")).unwrap_or_default();
        let (over_long, over_short, all) =
            (shares.over(&long, objective), shares.over(&short, objective), &shares.all);
        // Writing to a string cannot fail.
        let _written = write!(
            file,
            "      - alert: {name}
        expr: |
          ({over_long}) > {bound}
          and ({over_short}) > {bound}
          and sum by (site) (increase({all}[{long}])) >= {MIN_STREAMS}
        labels: {{ severity: {severity}, use_case: {use_case}, objective: {word}, over: {long}{site} }}
        annotations:
          summary: {summary}
"
        );
    }

    /// Writes a comment for an alert that cannot fire, because its limit is above 1.
    fn leave_out(
        &self,
        file: &mut String,
        objective: Objective,
        target: f64,
        (alert, days): (BurnRateAlert, u32),
    ) {
        let (word, rate, most) = (objective.as_str(), rounded(alert.rate(days)), 1.0 / (1.0 - target));
        let (severity, long) = (alert.severity.as_str(), length(alert.long_minutes));
        let (use_case, most) = (quoted(&self.use_case), rounded(most));
        let of_site = self.site.as_ref().map(|site| format!(" of {site}")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _written = writeln!(
            file,
            "      # Left out, {severity} over {long}: {use_case}{of_site} cannot burn its {word} budget at {rate} \
             times the sustainable rate, only at {most} times at most."
        );
    }
}

impl Shares {
    /// The share of bad streams by site over a window of this length.
    pub(crate) fn over(&self, length: &str, objective: Objective) -> String {
        let Self { bad, all } = self;
        let part = format!("sum by (site) (rate({bad}[{length}])) / sum by (site) (rate({all}[{length}]))");
        if objective == Objective::Speed { format!("1 - {part}") } else { part }
    }
}

/// A use case may be any text. YAML and PromQL both accept JSON strings.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Escapes text that Prometheus reads as a template, so that it prints unchanged.
fn literal(text: &str) -> String {
    if text.contains("{{") { format!("{{{{ {} }}}}", quoted(text)) } else { text.to_owned() }
}

fn length(minutes: i64) -> String {
    if minutes % 60 == 0 { format!("{}h", minutes / 60) } else { format!("{minutes}m") }
}

pub(crate) fn rounded(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

/// Selects eligible streams.
pub(crate) const ELIGIBLE: &str = "outcome!~\"aborted|abandoned|unobserved\"";

const HEAD: &str = "# Prometheus alerting rules for the configured objectives. Written by `llm-rum rules`; explained in docs/statistics.md.
groups:
  - name: llm-rum-budgets
    rules:
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_between_two_buckets_is_refused_with_valid_ones() {
        let mut config = Config::default();
        let targets = Targets { ttft_p95_ms: Some(1_700.0), ..Targets::default() };
        config.targets.insert("chat".to_owned(), targets);
        let message = rules(&config).unwrap_err().to_string();
        assert!(message.contains("1700 ms for `chat`") && message.contains("1500, 2000, 2250"), "{message}");
    }

    #[test]
    fn a_site_with_targets_of_its_own_has_its_own_rules() {
        let mut config = Config::default();
        let targets = Targets { ttft_p95_ms: Some(500.0), ..Targets::default() };
        config.sites[0].targets.insert("chat".to_owned(), targets);
        let file = rules(&config).unwrap();
        assert!(file.contains("_bucket{site=\"demo\",use_case=\"chat\",le=~\"0\\\\.5\"}[1h]"), "{file}");
        assert!(file.contains("over: 1h, site: \"demo\" }"), "{file}");
        assert!(file.contains("_bucket{site!~\"demo\",use_case=\"chat\",le=~\"2(\\\\.0)?\"}[1h]"), "{file}");
    }

    #[test]
    fn every_objective_has_its_rules() {
        let mut config = Config::default();
        let targets = Targets { integrity: Some(0.99), ..Targets::default() };
        config.targets.insert("chat".to_owned(), targets);
        let file = rules(&config).unwrap();
        for objective in Objective::ALL {
            let labels = format!(r#"use_case: "chat", objective: {},"#, objective.as_str());
            assert_eq!(file.matches(&labels).count(), BurnRateAlert::ALL.len(), "{labels}");
        }
        let share = r#"(sum by (site) (rate(llm_rum_broken_streams_total{use_case="chat"}[1h])) / sum by (site) (rate(llm_rum_streams_total{use_case="chat",outcome!~"aborted|abandoned|unobserved"}[1h]))) > 0.144"#;
        assert!(file.contains(share), "{file}");
    }

    #[test]
    fn an_alert_that_cannot_fire_is_left_out_and_named() {
        let mut config = Config::default();
        let targets = Targets { availability: Some(0.9), ..Targets::default() };
        config.targets.insert("some\nchat".to_owned(), targets);
        let file = rules(&config).unwrap();
        let left_out: Vec<_> = file.lines().filter(|line| line.contains("# Left out")).collect();
        let line = r#"      # Left out, page over 1h: "some\nchat" cannot burn its availability budget at 14.4 times the sustainable rate, only at 10 times at most."#;
        assert_eq!(left_out, [line]);
        assert_eq!(file.matches(r#"use_case: "some\nchat", objective"#).count(), 3);
    }

    #[test]
    fn a_use_case_with_quotes_stays_one_string() {
        let mut config = Config::default();
        config
            .targets
            .insert("the \"new\" chat: v2".to_owned(), Targets::default().or(config.targets(None, "chat")));
        let file = rules(&config).unwrap();
        assert!(file.contains(r#"{use_case="the \"new\" chat: v2",outcome"#), "{file}");
        assert!(file.contains(r#"use_case: "the \"new\" chat: v2","#), "{file}");
    }
}

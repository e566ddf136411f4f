//! `llm-rum rules`: a file of Prometheus alerts: burn rates of error budgets over two windows, and waits far beyond
//! their targets.
//!
//! The alerts compare shares at a bucket edge, which are exact, instead of percentiles interpolated between two edges.
//! Collectors have an edge at each target. A target beyond their limit of edges has no rule.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::aggregate::metric::Metric;
use crate::aggregate::own_edges::OwnEdges;
use crate::config::Config;
use crate::config::targets::{self, Targets};
use crate::export::prometheus::names;
use crate::slo::alert::WaitAlert;
use crate::slo::error_budget::{BurnRateAlert, ENOUGH_FAILURES, FEWEST_FAILURES, Objective};
use crate::stats::Z_95;

/// A target that no rule can be written for.
#[derive(Debug, thiserror::Error)]
#[error(
    "no rule for the wait of {limit_ms} ms of `{use_case}`: the histograms have no more room for edges; the nearest edge \
     is {nearest_ms} ms"
)]
pub struct NoRule {
    use_case: String,
    limit_ms: f64,
    nearest_ms: f64,
}

/// A file of rules, and the targets that it leaves out.
pub struct RulesFile {
    /// The file, ready to be written.
    pub text: String,
    /// The file has a comment for each of them.
    pub left_out: Vec<NoRule>,
}

/// Rules for every use case with targets.
#[must_use]
pub fn rules(config: &Config) -> RulesFile {
    let mut file = RulesFile { text: HEAD.to_owned(), left_out: Vec::new() };
    let own_edges = OwnEdges::of(config);
    let days = config.budget_days();
    for profile in profiles(config) {
        for objective in Objective::ALL {
            let Some(target) = objective.share(&profile.targets) else { continue };
            match profile.shares(objective, &own_edges) {
                Ok(shares) => profile.burn_rate_alerts(&mut file.text, objective, target, &shares, days),
                Err(no_rule) => file.leave_out(no_rule),
            }
        }
        for alert in WaitAlert::ALL {
            for (metric, limit_ms, rule) in alert.limits(&profile.targets) {
                match profile.slow(metric, limit_ms, &own_edges) {
                    Ok(shares) => profile.wait_alert(&mut file.text, alert, (limit_ms, rule), &shares),
                    Err(no_rule) => file.leave_out(no_rule),
                }
            }
        }
    }
    file
}

impl RulesFile {
    fn leave_out(&mut self, no_rule: NoRule) {
        // A use case may be any text, and a comment ends with its line.
        let reason = no_rule.to_string().replace(['\n', '\r'], " ");
        // Writing to a string cannot fail.
        let _written = writeln!(self.text, "      # Left out: {reason}.");
        self.left_out.push(no_rule);
    }
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

/// PromQL selectors of counters, without the window.
pub(crate) struct Shares {
    counted: Counted,
    all: String,
}

/// Which of all streams are counted beside them.
enum Counted {
    Bad(String),
    Good(String),
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
    /// The shares of an objective that the use case has.
    pub(crate) fn shares(&self, objective: Objective, own_edges: &OwnEdges) -> Result<Shares, NoRule> {
        let labels = &self.labels;
        let of =
            |bad: &str, all: String| Ok(Shares { counted: Counted::Bad(format!("{bad}{{{labels}}}")), all });
        let eligible = || format!("{}{{{labels},{ELIGIBLE}}}", names::STREAMS);
        match objective {
            Objective::Availability => of(names::ERRORS, eligible()),
            Objective::Integrity => of(names::BROKEN, eligible()),
            Objective::Pace => of(names::PACE_MISSED, format!("{}{{{labels}}}", names::PACE_KNOWN)),
            Objective::Speed => {
                let (metric, target_ms) =
                    self.targets.wait().expect("without a wait there is no such objective");
                self.slow(metric, target_ms, own_edges)
            }
        }
    }

    /// The share of streams that waited longer.
    fn slow(&self, metric: Metric, limit_ms: f64, own_edges: &OwnEdges) -> Result<Shares, NoRule> {
        let (labels, name) = (&self.labels, metric.export().prometheus);
        let edge = self.edge(metric, limit_ms, own_edges)?;
        Ok(Shares {
            counted: Counted::Good(format!("{name}_bucket{{{labels},le=~\"{edge}\"}}")),
            all: format!("{name}_count{{{labels}}}"),
        })
    }

    /// The bucket edge as a regular expression: Prometheus 3 writes `2.0` where earlier versions wrote `2`.
    fn edge(&self, metric: Metric, limit_ms: f64, own_edges: &OwnEdges) -> Result<String, NoRule> {
        let seconds = limit_ms / 1_000.0;
        let edges = own_edges.all(metric).into_iter();
        let nearest = edges.min_by(|one, other| (one - seconds).abs().total_cmp(&(other - seconds).abs()));
        if nearest != Some(seconds) {
            let nearest_ms = (nearest.unwrap_or_default() * 1e6).round() / 1e3;
            return Err(NoRule { use_case: self.use_case.clone(), limit_ms, nearest_ms });
        }
        let text = seconds.to_string();
        Ok(if text.contains('.') { text.replace('.', "\\\\.") } else { format!("{text}(\\\\.0)?") })
    }

    fn burn_rate_alerts(
        &self,
        file: &mut String,
        objective: Objective,
        target: f64,
        shares: &Shares,
        days: u32,
    ) {
        for alert in BurnRateAlert::ALL {
            if alert.can_fire(days, target) {
                self.burn_rate_alert(file, objective, target, shares, (alert, days));
            } else {
                self.leave_out(file, objective, target, (alert, days));
            }
        }
    }

    fn burn_rate_alert(
        &self,
        file: &mut String,
        objective: Objective,
        target: f64,
        shares: &Shares,
        (alert, days): (BurnRateAlert, u32),
    ) {
        let (long, short) = (length(alert.long_minutes), length(alert.short_minutes));
        let allowed = alert.rate(days) * (1.0 - target);
        let (word, severity, rate) = (objective.as_str(), alert.severity.as_str(), rounded(alert.rate(days)));
        let (use_case, site) = (quoted(&literal(&self.use_case)), self.site_label());
        // A template can use only the labels of the series, and the use case is a label of the rule.
        let summary = quoted(&format!(
            "`{{{{ $labels.site }}}}`: {} burns its {word} budget at over {rate} times the sustainable rate",
            literal(&self.use_case)
        ));
        let name = match objective {
            Objective::Availability => "LlmRumAvailabilityBudget",
            Objective::Integrity => "LlmRumIntegrityBudget",
            Objective::Speed => "LlmRumSpeedBudget",
            Objective::Pace => "LlmRumPaceBudget",
        };
        let (over_long, over_short) = (shares.above(&long, allowed), shares.above(&short, allowed));
        let proof = shares.proof(&long, allowed);
        // Writing to a string cannot fail.
        let _written = write!(
            file,
            "      - alert: {name}
        expr: |
          {over_long}
          and {over_short}
          and {proof}
        labels: {{ severity: {severity}, use_case: {use_case}, objective: {word}, over: {long}{site} }}
        annotations:
          summary: {summary}
"
        );
    }

    fn wait_alert(
        &self,
        file: &mut String,
        alert: WaitAlert,
        (limit_ms, rule): (f64, &str),
        shares: &Shares,
    ) {
        let (severity, allowed) = (alert.severity.as_str(), alert.allowed());
        let (use_case, site) = (quoted(&literal(&self.use_case)), self.site_label());
        let summary = quoted(&format!(
            "`{{{{ $labels.site }}}}`: p{} of {} is above {} s, {} times its target",
            alert.percentile,
            literal(&self.use_case),
            limit_ms / 1e3,
            alert.factor
        ));
        let (hour, proof) = (shares.above("1h", allowed), shares.proof("1h", allowed));
        // An alert that must have lasted for a day needs no second window to end soon.
        let (still, lasts) = match alert.for_minutes {
            0 => (format!("\n          and {}", shares.above("5m", allowed)), String::new()),
            minutes => (String::new(), format!("\n        for: {}", length(minutes))),
        };
        // Writing to a string cannot fail.
        let _written = write!(
            file,
            "      - alert: LlmRumSlow
        expr: |
          {hour}{still}
          and {proof}{lasts}
        labels: {{ severity: {severity}, use_case: {use_case}, rule: {rule}{site} }}
        annotations:
          summary: {summary}
"
        );
    }

    /// The alert has this label anyway. Without it, rule checkers report rules with the same name and labels as
    /// duplicates.
    fn site_label(&self) -> String {
        self.site.as_ref().map(|site| format!(", site: \"{site}\"")).unwrap_or_default()
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
    pub(crate) fn over(&self, length: &str) -> String {
        let (all, function) = (&self.all, "rate");
        let part = |part: &str| {
            format!(
                "sum by (site) ({function}({part}[{length}])) / sum by (site) ({function}({all}[{length}]))"
            )
        };
        match &self.counted {
            Counted::Bad(bad) => part(bad),
            Counted::Good(good) => format!("1 - {}", part(good)),
        }
    }

    fn above(&self, length: &str, allowed: f64) -> String {
        format!("({}) > {}", self.over(length), rounded(allowed))
    }

    /// Enough bad streams, or Wilson's lower bound of their share above the limit: the same test as the collector's.
    fn proof(&self, length: &str, allowed: f64) -> String {
        let count = |of: &str| format!("sum by (site) (increase({of}[{length}]))");
        let all = count(&self.all);
        let bad = match &self.counted {
            Counted::Bad(bad) => count(bad),
            Counted::Good(good) => format!("({all} - {})", count(good)),
        };
        let (share, z2) = (self.over(length), Z_95 * Z_95);
        let z = rounded(Z_95);
        let (half, quarter, whole) = (rounded(z2 / 2.0), rounded(z2 / 4.0), rounded(z2));
        let allowed = rounded(allowed);
        // `increase` extrapolates to the ends of the window, so a whole number may be a little less.
        let (enough, fewest) = (ENOUGH_FAILURES as f64 - 0.5, FEWEST_FAILURES as f64 - 0.5);
        format!(
            "({bad} > {enough} or {bad} > {fewest} and \
             ({share} + {half} / {all} \
             - {z} * sqrt(({share}) * (1 - ({share})) / {all} + {quarter} / {all} ^ 2)) \
             / (1 + {whole} / {all}) > {allowed})"
        )
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

const HEAD: &str = "# Prometheus alerting rules for the configured objectives. Written by `llm-rum rules`; explained in docs/slo.md.
groups:
  - name: llm-rum-budgets
    rules:
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_between_two_common_edges_has_rules() {
        let mut config = Config::default();
        let targets = Targets { ttft_p95_ms: Some(1_700.0), ..Targets::default() };
        config.targets.insert("chat".to_owned(), targets.into());
        let file = rules(&config);
        assert!(file.left_out.is_empty());
        assert!(file.text.contains(r#"_bucket{use_case="chat",le=~"1\\.7"}[1h]"#), "{}", file.text);
    }

    #[test]
    fn a_target_without_an_edge_is_left_out_alone() {
        let mut config = Config::default();
        for n in 0..50 {
            let ttft_p95_ms = Some(1_001.0 + f64::from(n));
            let targets = Targets { ttft_p95_ms, speed: Some(0.99), ..Targets::default() };
            config.targets.insert(format!("use case {n:02}"), targets.into());
        }
        let file = rules(&config);
        let left_out: Vec<_> = file.left_out.iter().map(ToString::to_string).collect();
        assert!(left_out.iter().any(|reason| reason.contains("1050 ms of `use case 49`")));
        assert!(file.text.contains("# Left out: no rule for the wait of 1050 ms of `use case 49`"));
        assert!(file.text.contains(r#"le=~"1\\.001"}"#) && file.text.contains(r#"use_case: "coding""#));
    }

    #[test]
    fn waits_far_beyond_their_targets_have_rules() {
        let file = rules(&Config::default()).text;
        let rule = |severity: &str| {
            let labels = format!("labels: {{ severity: {severity}, use_case: \"chat\"");
            let end = file.find(&labels).unwrap_or_else(|| panic!("no {severity}: {file}"));
            &file[file[..end].rfind("- alert").unwrap()..end]
        };
        assert!(
            rule("P1").contains(r#"le=~"10(\\.0)?"}[5m]"#) && rule("P1").contains("> 0.01"),
            "{}",
            rule("P1")
        );
        assert!(
            rule("P2").contains(r#"le=~"4(\\.0)?"}[5m]"#) && rule("P2").contains("> 0.05"),
            "{}",
            rule("P2")
        );
        assert!(
            rule("P3").contains(r#"le=~"3(\\.0)?"}[1h]"#) && rule("P3").contains("for: 24h"),
            "{}",
            rule("P3")
        );
    }

    #[test]
    fn a_site_with_targets_of_its_own_has_its_own_rules() {
        let mut config = Config::default();
        let targets = Targets { ttft_p95_ms: Some(500.0), ..Targets::default() };
        config.sites[0].targets.insert("chat".to_owned(), targets.into());
        let file = rules(&config).text;
        assert!(file.contains("_bucket{site=\"demo\",use_case=\"chat\",le=~\"0\\\\.5\"}[1h]"), "{file}");
        assert!(file.contains("over: 1h, site: \"demo\" }"), "{file}");
        assert!(file.contains("_bucket{site!~\"demo\",use_case=\"chat\",le=~\"2(\\\\.0)?\"}[1h]"), "{file}");
    }

    #[test]
    fn every_objective_has_its_rules() {
        let mut config = Config::default();
        let targets = Targets { integrity: Some(0.99), ..Targets::default() };
        config.targets.insert("chat".to_owned(), targets.into());
        let file = rules(&config).text;
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
        config.targets.insert("some\nchat".to_owned(), targets.into());
        let file = rules(&config).text;
        let left_out: Vec<_> = file.lines().filter(|line| line.contains("# Left out")).collect();
        let line = r#"      # Left out, page over 1h: "some\nchat" cannot burn its availability budget at 14.4 times the sustainable rate, only at 10 times at most."#;
        assert_eq!(left_out, [line]);
        assert_eq!(file.matches(r#"use_case: "some\nchat", objective"#).count(), 3);
    }

    #[test]
    fn a_use_case_with_quotes_stays_one_string() {
        let mut config = Config::default();
        config.targets.insert("the \"new\" chat: v2".to_owned(), config.targets(None, "chat").into());
        let file = rules(&config).text;
        assert!(file.contains(r#"{use_case="the \"new\" chat: v2",outcome"#), "{file}");
        assert!(file.contains(r#"use_case: "the \"new\" chat: v2","#), "{file}");
    }
}

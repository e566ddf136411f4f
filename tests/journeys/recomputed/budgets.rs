//! `/v1/slo` against error budgets, burn rates and days recomputed from the reports.

use anyhow::{Context, Result};
use serde_json::Value;
use tests::recomputed::{Targets, Wrong, count, is_eligible, keeps_pace, outcome, values};

use super::answers::{Asked, Check, MINUTE_MS};

impl Check<'_> {
    pub(super) async fn budgets(&mut self, use_case: &str) -> Result<()> {
        let path = format!("/v1/slo?use_case={use_case}");
        let answer = self.collector.get(&path).await?;
        // Without a site in the question, the answer is about the site that fares worst.
        let site = answer["site"].as_str().map(|site| ("site", site.to_owned()));
        let filter: Vec<_> = [("use_case", use_case.to_owned())].into_iter().chain(site).collect();
        let (from, to) = (answer["from"].as_i64().context("from")?, answer["to"].as_i64().context("to")?);
        let asked = Asked { filter: &filter, from, to };
        let targets = Targets::of(use_case);
        for budget in answer["budgets"].as_array().context("budgets")? {
            let objective = budget["objective"].as_str().unwrap_or_default().to_owned();
            let place = format!("{path}: {objective}");
            let objective_ratio = match objective.as_str() {
                "speed" => Some(0.99),
                "pace" => Some(0.95),
                _ => targets.availability,
            };
            self.wrong.near(
                &format!("{place}: objective_ratio"),
                &budget["objective_ratio"],
                objective_ratio,
            );
            let objective_ratio = objective_ratio.context("an objective")?;
            let kept = |reports: &[&Value]| Kept::of(&objective, reports, targets);
            let all = kept(&self.within(&asked, from, to));
            all.check(&mut self.wrong, &place, budget);
            let may = (1.0 - objective_ratio) * all.total as f64;
            self.wrong.near(&format!("{place}: allowed"), &budget["allowed"], Some(may));
            let left = (all.total > 0).then(|| 1.0 - f64::from(budget_bad(budget)) / may);
            self.wrong.near(&format!("{place}: remaining"), &budget["remaining"], left);
            for burn_rate in budget["burn_rates"].as_array().context("burn_rates")? {
                let minutes = burn_rate["minutes"].as_i64().context("minutes")?;
                let lately = kept(&self.within(&asked, to - minutes * MINUTE_MS, to));
                let place = format!("{place}: burn rate over {minutes} minutes");
                self.wrong.exact(&format!("{place}: total"), &burn_rate["total"], lately.total);
                let rate = |good: usize| {
                    (lately.total > 0)
                        .then(|| (lately.total - good) as f64 / lately.total as f64 / (1.0 - objective_ratio))
                };
                let (least, most, found) =
                    (rate(lately.possible), rate(lately.certain), burn_rate["rate"].as_f64());
                let same = match (least.zip(most), found) {
                    (None, None) => true,
                    (Some((least, most)), Some(found)) => found >= least - 1e-9 && found <= most + 1e-9,
                    _ => false,
                };
                self.wrong.unless(same, || {
                    format!("{place} is {found:?}, by its definition {least:?} to {most:?}")
                });
            }
            for day in budget["by_day"].as_array().context("by_day")? {
                let t = day["timestamp_ms"].as_i64().context("a day")?;
                kept(&self.within(&asked, t, t + 86_400_000)).check(
                    &mut self.wrong,
                    &format!("{place} on {t}"),
                    day,
                );
            }
        }
        Ok(())
    }
}

fn budget_bad(budget: &Value) -> u32 {
    let of = |name: &str| budget[name].as_u64().unwrap_or_default();
    (of("total") - of("good")) as u32
}

/// Streams that met an objective: those that certainly did, those that may have by the error of a bucket, and all.
struct Kept {
    certain: usize,
    possible: usize,
    total: usize,
}

impl Kept {
    fn of(objective: &str, reports: &[&Value], targets: Targets) -> Self {
        if objective == "availability" {
            let good = count(reports, |report| outcome(report) == "complete");
            return Self { certain: good, possible: good, total: count(reports, is_eligible) };
        }
        if objective == "pace" {
            let paces: Vec<_> = reports.iter().filter_map(|report| keeps_pace(report, targets)).collect();
            let good = paces.iter().filter(|keeps| **keeps).count();
            return Self { certain: good, possible: good, total: paces.len() };
        }
        let (metric, within_ms) = match (targets.ttft_p95_ms, targets.e2e_p95_ms) {
            (Some(within_ms), _) => ("ttfv", within_ms),
            (None, within_ms) => ("e2e", within_ms.unwrap_or(f64::NAN)),
        };
        let waits = values(reports, metric);
        let below = |limit_ms: f64| waits.iter().filter(|wait_ms| **wait_ms <= limit_ms).count();
        Self { certain: below(within_ms / 1.0109), possible: below(within_ms * 1.0109), total: waits.len() }
    }

    fn check(&self, wrong: &mut Wrong, place: &str, found: &Value) {
        wrong.exact(&format!("{place}: total"), &found["total"], self.total);
        let good = found["good"].as_u64().unwrap_or_default() as usize;
        let (certain, possible) = (self.certain, self.possible);
        wrong.unless((certain..=possible).contains(&good), || {
            format!("{place}: good is {good}, by its definition {certain} to {possible}")
        });
    }
}

//! The answer of `/v1/slo` in words.

use serde_json::Value;

use super::answer::{Answer, quoted};
use super::figures::{FEW, or_absent, percent, range, share};

pub(super) fn write(slo: &Value, answer: &mut Answer) {
    answer.line(range(slo));
    let use_case = slo["targets"]["use_case"].as_str().unwrap_or_default();
    let site = slo["site"].as_str().map_or_else(|| "absent: no site has streams".to_owned(), quoted);
    answer.line(format!(
        "Error budgets of use case {} of site {site}, over {} days. Other use cases have their own: filter by `site` \
         and `use_case`.",
        quoted(use_case),
        or_absent(slo["days"].as_u64())
    ));
    let budgets = slo["budgets"].as_array().map_or(&[][..], Vec::as_slice);
    if budgets.is_empty() {
        answer.line("This use case has no objectives, so it has no error budget.");
    }
    for budget in budgets {
        of_objective(budget, answer);
    }
    answer.line(
        "A burn rate is the failure rate divided by the allowed one: at 1 the budget lasts exactly its period. \"At \
         least\" and \"at most\" of a share hold with 95 % confidence each.",
    );
}

fn of_objective(budget: &Value, answer: &mut Answer) {
    let total = budget["total"].as_u64();
    answer.line(format!(
        "- {}: objective {}, good {}",
        budget["objective"].as_str().unwrap_or_default(),
        or_absent(budget["objective_ratio"].as_f64().map(|share| format!("{:.2} %", share * 100.0))),
        share(budget["good"].as_u64(), total)
    ));
    let allowed = budget["allowed"].as_f64();
    let few = if allowed.is_some_and(|allowed| allowed < 1.0) && total != Some(0) {
        " So few streams allow less than one miss: a single one overspends the budget."
    } else {
        ""
    };
    answer.line(format!(
        "  allowed misses {}, budget left {}, alert {}.{few}",
        or_absent(allowed.map(|allowed| format!("{allowed:.1}"))),
        or_absent(budget["remaining"].as_f64().map(percent)),
        budget["alert"].as_str().map_or_else(|| "none fires".to_owned(), |alert| format!("`{alert}` fires"))
    ));
    let rates = budget["burn_rates"].as_array().into_iter().flatten().map(|burn| {
        let (minutes, total) = (burn["minutes"].as_u64().unwrap_or_default(), burn["total"].as_u64());
        let few = if total.is_some_and(|total| total < FEW) { ", few" } else { "" };
        let rate = burn["rate"].as_f64().map(|rate| format!("{rate:.1}"));
        format!("{} {} (n = {}{few})", length(minutes), or_absent(rate), or_absent(total))
    });
    answer.line(format!("  burn rates: {}", rates.collect::<Vec<_>>().join(", ")));
}

fn length(minutes: u64) -> String {
    match minutes {
        0..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

//! The attacks on sites that the summary names, each with a sentence for the dashboard.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::state::ApiState;
use crate::http::fair_share::Attack;
use crate::slo::words::{grouped, percent};
use crate::store::filter::Filter;
use crate::time::{MINUTE_MS, minute_of, rfc3339};

/// Few networks that send this collector an abnormal share of a site's reports.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AttackNotice {
    site: String,
    since_ms: i64,
    /// Absent while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    until_ms: Option<i64>,
    /// The networks in the ten seconds in which they sent the most.
    networks: usize,
    /// Their share of the reports of these ten seconds.
    share: f64,
    /// Reports of the site that were refused because their networks exceeded their share.
    refused: u64,
    /// All of this in words. Times are UTC.
    text: String,
}

/// The attacks of the last day on sites that the filter selects.
pub(crate) fn attacks(state: &ApiState, filter: &Filter, now_ms: i64) -> Vec<AttackNotice> {
    let sites = state.fair_shares.iter().filter(|(site, _)| filter.selects_site(site));
    let attacks = sites.filter_map(|(site, share)| Some((site, share.attack(now_ms)?)));
    attacks.map(|(site, attack)| AttackNotice::of(site, &attack, now_ms)).collect()
}

impl AttackNotice {
    fn of(site: &str, attack: &Attack, now_ms: i64) -> Self {
        let until_ms = Some(attack.until_ms).filter(|_| !attack.goes_on(now_ms));
        let Attack { since_ms, networks, share, refused, .. } = *attack;
        Self {
            site: site.to_owned(),
            since_ms,
            until_ms,
            networks,
            share,
            refused,
            text: describe(site, attack, now_ms),
        }
    }
}

fn describe(site: &str, attack: &Attack, now_ms: i64) -> String {
    let networks = match attack.networks {
        1 => "1 network".to_owned(),
        more => format!("{} networks", grouped(more as u64)),
    };
    let sent = format!("{networks} sent {} of the reports of {site}", percent(attack.share));
    let since = clock(attack.since_ms, now_ms);
    if attack.goes_on(now_ms) {
        return match attack.quota_per_second {
            Some(quota) if attack.share <= 0.5 => {
                let refused = grouped(attack.refused);
                format!(
                    "Far more reports of {site} than usual since {since}: networks with more than {quota}/s are \
                     limited to that ({refused} refused so far)."
                )
            }
            Some(quota) => {
                let refused = grouped(attack.refused);
                format!(
                    "Under attack since {since}: {sent}; beyond {quota}/s each they are refused ({refused} so far)."
                )
            }
            None => format!("Unusual since {since}: {sent}, each at least ten times the usual number."),
        };
    }
    let refused = match attack.refused {
        0 => String::new(),
        some => format!("; {} were refused", grouped(some)),
    };
    let (from, to) =
        (minute_of(attack.since_ms) * MINUTE_MS, (minute_of(attack.until_ms - 1) + 1) * MINUTE_MS);
    format!(
        "Attack from {since} to {}: {sent}{refused}. If the others distort the figures: llm-rum delete --site {site} \
         --from {} --to {}",
        clock(attack.until_ms, now_ms),
        rfc3339(from),
        rfc3339(to)
    )
}

/// Time of the day, with the date unless it is today.
fn clock(ms: i64, now_ms: i64) -> String {
    let (text, today) = (rfc3339(ms), rfc3339(now_ms));
    let (date, time) = (&text[..10], &text[11..16]);
    if today.starts_with(date) { format!("{time} UTC") } else { format!("{date} {time} UTC") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_says_what_happens() {
        let attack = Attack {
            since_ms: 1_795_615_510_000,
            until_ms: 1_795_615_640_000,
            refused: 123_456,
            quota_per_second: Some(25),
            networks: 38,
            share: 0.97,
            most: 9_999,
        };
        let now_ms = attack.until_ms + 5_000;
        let sent = "38 networks sent 97.0 % of the reports of shop";
        let check = |attack: &Attack, now_ms, expected: String| {
            assert_eq!(describe("shop", attack, now_ms), expected);
        };
        check(
            &attack,
            now_ms,
            format!(
                "Under attack since 14:05 UTC: {sent}; beyond 25/s each they are refused (123,456 so far)."
            ),
        );
        check(
            &attack,
            now_ms + 86_000_000,
            format!(
                "Attack from 2026-11-25 14:05 UTC to 2026-11-25 14:07 UTC: {sent}; 123,456 were refused. If the others \
                 distort the figures: llm-rum delete --site shop --from 2026-11-25T14:05:00Z --to 2026-11-25T14:08:00Z"
            ),
        );
        let launch = Attack { share: 0.02, networks: 3, quota_per_second: Some(1), ..attack.clone() };
        check(
            &launch,
            now_ms,
            "Far more reports of shop than usual since 14:05 UTC: networks with more than 1/s are limited to that \
             (123,456 refused so far)."
                .to_owned(),
        );
        let unusual = Attack { refused: 0, quota_per_second: None, networks: 1, ..attack };
        let sent = "1 network sent 97.0 % of the reports of shop";
        check(
            &unusual,
            now_ms,
            format!("Unusual since 14:05 UTC: {sent}, each at least ten times the usual number."),
        );
    }
}

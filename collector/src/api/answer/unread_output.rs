//! Output that the backend generated after its clients had left, beside the users that left by the browser's count.

use std::collections::BTreeMap;

use beacon::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::api::answer::ratio::share;

/// Output after the clients had left, of all sites and of each.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UnreadOutput {
    #[serde(flatten)]
    all: Counts,
    /// Sites whose backend says how streams ended, by name.
    sites: Vec<OfSite>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UnreadOutputOfSite")]
struct OfSite {
    site: String,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UnreadOutputCounts")]
struct Counts {
    /// Streams that their users ended, by the browser.
    users_left: u64,
    /// Streams whose backend says how they ended.
    backend_ends: u64,
    /// Those of them whose client left before the end.
    client_gone: u64,
    /// Those of them whose backend counted the tokens after that.
    client_gone_counted: u64,
    /// Output tokens by the backend's count. Streams whose client left are included only if the tokens after that are
    /// counted.
    output_tokens: u64,
    /// Those of them that were generated after the client had left.
    tokens_after_gone: u64,
    /// Share of the tokens that were generated after the client had left. Absent if no tokens are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
}

impl UnreadOutput {
    /// `None` if no backend says how streams ended.
    pub(crate) fn of(by_site: &BTreeMap<String, WindowStats>, all: &WindowStats) -> Option<Self> {
        let of_site = |(site, stats): (&String, &WindowStats)| {
            Counts::of(stats).map(|counts| OfSite { site: site.clone(), counts })
        };
        Some(Self { all: Counts::of(all)?, sites: by_site.iter().filter_map(of_site).collect() })
    }
}

impl Counts {
    fn of(stats: &WindowStats) -> Option<Self> {
        let left = |outcome| matches!(outcome, Outcome::Aborted | Outcome::Abandoned);
        let [backend_ends, client_gone, client_gone_counted, output_tokens, tokens_after_gone] = [
            Sum::BackendEnds,
            Sum::ClientGone,
            Sum::ClientGoneCounted,
            Sum::BackendTokens,
            Sum::TokensAfterGone,
        ]
        .map(|sum| stats.sum(sum));
        let is_counted = client_gone == 0 || client_gone_counted > 0;
        (backend_ends > 0).then(|| Self {
            users_left: stats
                .outcomes()
                .filter(|(outcome, _)| left(*outcome))
                .map(|(_, streams)| streams)
                .sum(),
            backend_ends,
            client_gone,
            client_gone_counted,
            output_tokens,
            tokens_after_gone,
            share: share(tokens_after_gone, output_tokens).filter(|_| is_counted),
        })
    }
}

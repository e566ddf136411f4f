//! `GET /v1/refusals`: the last refusals of the ingest endpoint, with the line of the configuration that would accept
//! the sender.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::request::query_string::Query;
use crate::api::state::ApiState;
use crate::config::Config;
use crate::config::origin::Origin;
use crate::http::access_control::Access;
use crate::http::error::{ApiError, Reason};
use crate::http::recent_refusals::Refusal;

/// The last refusals of this collector since its start, newest first: at most five senders for each reason.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Refusals {
    refusals: Vec<RefusedSender>,
}

/// Refused requests of the same sender for the same reason. Foreign texts are cut, and have `?` in place of
/// characters other than visible ASCII.
#[derive(Serialize, JsonSchema)]
struct RefusedSender {
    /// Time of the last of them.
    timestamp_ms: i64,
    count: u64,
    /// As in the response and in the accounting.
    reason: &'static str,
    /// Absent if the requests named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// The beginning of the site key. Absent if the requests named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_prefix: Option<String>,
    /// The site that the key belongs to. Absent if it belongs to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    /// Line for the site's `[[sites]]` that would accept the sender. Absent if no line would.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_line: Option<String>,
}

/// Handles the route.
pub(crate) async fn refusals(
    State(state): State<ApiState>,
    Access { sites, .. }: Access,
    _: Query<()>,
) -> Result<Json<Refusals>, ApiError> {
    // Refused senders belong to no site that a token could be limited to.
    let message = "the refusals cover all sites, and the token is limited to some of them";
    sites.all().ok_or_else(|| ApiError::new(Reason::SiteForbidden, message))?;
    let refusals = state.counters.recent.list();
    let refusals = refusals.into_iter().map(|refusal| RefusedSender::of(&state.config, refusal)).collect();
    Ok(Json(Refusals { refusals }))
}

impl RefusedSender {
    fn of(config: &Config, refusal: Refusal) -> Self {
        let config_line = config_line(config, &refusal);
        let Refusal { reason, origin, key_prefix, site, count, timestamp_ms } = refusal;
        Self { timestamp_ms, count, reason: reason.code(), origin, key_prefix, site, config_line }
    }
}

fn config_line(config: &Config, refusal: &Refusal) -> Option<String> {
    let site = config.sites.iter().find(|site| Some(&site.name) == refusal.site.as_ref());
    match refusal.reason {
        Reason::UnknownSite => Some(format!("keys = [\"{}\"]", refusal.key_prefix.as_ref()?)),
        Reason::ForeignOrigin => {
            // A header could also contain a pattern, which would allow more than the page that sent it.
            let Ok(Origin::Exact(new)) = Origin::try_from(refusal.origin.clone()?) else { return None };
            let allowed = site?.origins.iter().map(ToString::to_string).chain([new]);
            let allowed: Vec<_> = allowed.map(|origin| format!("\"{origin}\"")).collect();
            Some(format!("origins = [{}]", allowed.join(", ")))
        }
        Reason::FilteredBot => Some("filters.bots = false".to_owned()),
        Reason::FilteredPrerender => Some("filters.prerender = false".to_owned()),
        _ => None,
    }
}

//! `POST /v1/markers` and `DELETE /v1/markers/{id}`: operators and their programs post markers, and delete mistaken
//! ones.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use ring::rand::{SecureRandom, SystemRandom};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::request::params::MarkerSite;
use crate::api::request::query_string::{Query, query};
use crate::api::state::ApiState;
use crate::config::Config;
use crate::config::token::AllowedSites;
use crate::http::access_control::Access;
use crate::http::error::{ApiError, Reason};
use crate::http::json_body;
use crate::store::error::StoreError;
use crate::store::markers::{Marker, MarkerKind, Posted};
use crate::time::{self, DAY_MS, MINUTE_MS};

/// A marker as a client posts it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMarker {
    /// At most 100 characters, in one line.
    title: String,
    /// Default: now. At most five minutes ahead, and not before the stored history.
    timestamp_ms: Option<i64>,
    /// Name of a site. Default: the marker concerns all sites.
    site: Option<String>,
    /// `deploy` (default), `config`, `incident` or `other`.
    kind: Option<String>,
    /// An `https` address of at most 500 characters.
    url: Option<String>,
    /// A site has each id once, so that a repeated post changes nothing: 1 to 64 of `A-Z a-z 0-9 . _ -`. Default: a random
    /// one.
    id: Option<String>,
}

query! {
    /// Parameters of `DELETE`.
    MarkerDeletionQuery {
        site: MarkerSite,
    }
}

/// Handles `POST`.
pub(crate) async fn post_marker(
    State(state): State<ApiState>,
    access: Access,
    request: Request,
) -> Result<Response, ApiError> {
    state.marker_rates.take(access.name.as_deref(), time::steady())?;
    let (head, body): (_, Body) = request.into_parts();
    let bytes = json_body::read(&head.headers, body).await?;
    let new: NewMarker = serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::new(Reason::BadJson, format!("the body is not a marker: {error}")))?;
    let now_ms = time::now_ms();
    let marker = new.checked(&state.config, &access.sites, now_ms)?;
    let (status, marker) = match state.markers.post(marker, now_ms).await.map_err(not_stored)? {
        Posted::New(marker) => (StatusCode::CREATED, marker),
        Posted::Known(marker) => (StatusCode::OK, marker),
    };
    Ok((status, Json(super::markers::Marker::from(marker))).into_response())
}

/// Handles `DELETE`.
pub(crate) async fn delete_marker(
    State(state): State<ApiState>,
    access: Access,
    id: Result<Path<String>, PathRejection>,
    Query(query): Query<MarkerDeletionQuery>,
) -> Result<StatusCode, ApiError> {
    state.marker_rates.take(access.name.as_deref(), time::steady())?;
    let Path(id) = id.map_err(|_| ApiError::new(Reason::BadQuery, "the id is not UTF-8"))?;
    let MarkerDeletionQuery { site: MarkerSite(site) } = query;
    check_allowed(site.as_deref(), &access.sites)?;
    if state.markers.delete(site, id).await.map_err(not_stored)? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let message = "there is no such marker: a marker of a site needs the parameter `site`";
    Err(ApiError::new(Reason::UnknownMarker, message))
}

impl NewMarker {
    fn checked(self, config: &Config, allowed: &AllowedSites, now_ms: i64) -> Result<Marker, ApiError> {
        // First, so that a limited token does not learn which other sites exist.
        check_allowed(self.site.as_deref(), allowed)?;
        if let Some(site) = &self.site
            && config.sites.iter().all(|known| known.name != *site)
        {
            return Err(bad("`site` is not the name of a configured site"));
        }
        let title = self.title.trim();
        if title.is_empty() || title.chars().count() > MOST_TITLE_CHARS || title.contains(is_hidden) {
            return Err(bad(format!(
                "`title` must have 1 to {MOST_TITLE_CHARS} characters, all of them visible and in one line"
            )));
        }
        let timestamp_ms = self.timestamp_ms.unwrap_or(now_ms);
        let history_ms = i64::from(config.store.history_days) * DAY_MS;
        if !(now_ms - history_ms..=now_ms + MOST_AHEAD_MS).contains(&timestamp_ms) {
            return Err(bad(format!(
                "`timestamp_ms` must be in milliseconds since 1970, at most five minutes ahead and within the last {} \
                 days",
                config.store.history_days
            )));
        }
        let word = self.kind.as_deref();
        let kind = word.map_or(Some(MarkerKind::default()), |word| {
            MarkerKind::posted().find(|kind| kind.as_str() == word)
        });
        let kind = kind.ok_or_else(|| bad("`kind` must be one of deploy, config, incident, other"))?;
        if self.url.as_deref().is_some_and(|url| !is_safe_url(url)) {
            return Err(bad(format!(
                "`url` must be an https address of at most {MOST_URL_BYTES} bytes, without a user name"
            )));
        }
        if self.id.as_deref().is_some_and(|id| !is_id(id)) {
            return Err(bad("`id` must have 1 to 64 of the characters A-Z a-z 0-9 . _ -"));
        }
        Ok(Marker {
            id: self.id.unwrap_or_else(random_id),
            title: title.to_owned(),
            site: self.site,
            url: self.url,
            timestamp_ms,
            kind,
        })
    }
}

/// A marker without a site is shown to the readers of all sites.
fn check_allowed(site: Option<&str>, allowed: &AllowedSites) -> Result<(), ApiError> {
    let Some(names) = allowed.names() else { return Ok(()) };
    if site.is_some_and(|site| allowed.allows(site)) {
        return Ok(());
    }
    let names = names.join("`, `");
    let message = format!("the token is limited to some sites: name one of `{names}` in `site`");
    Err(ApiError::new(Reason::SiteForbidden, message))
}

/// Characters that a title cannot have: they break a line, are invisible, or reorder the text around them.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(char, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether the dashboard can make a link of it that does what it shows.
fn is_safe_url(url: &str) -> bool {
    let is_plain = url.len() <= MOST_URL_BYTES && url.bytes().all(|byte| byte.is_ascii_graphic());
    let has_host = |url: Uri| {
        let authority = url
            .authority()
            .is_some_and(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'));
        url.scheme_str() == Some("https") && authority
    };
    is_plain && url.parse().is_ok_and(has_host)
}

fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn random_id() -> String {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).expect("the system has random numbers");
    format!("{:032x}", u128::from_be_bytes(bytes))
}

fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    ApiError::new(Reason::BadField, message)
}

/// The disk may be full or locked. That passes, so the client can try again.
fn not_stored(error: StoreError) -> ApiError {
    if matches!(error, StoreError::Sqlite(_)) {
        tracing::error!(%error, "Cannot store a marker");
        return ApiError::new(Reason::StorageUnavailable, "the marker cannot be stored now; try again later");
    }
    error.into()
}

const MOST_TITLE_CHARS: usize = 100;
const MOST_URL_BYTES: usize = 500;

/// Clocks of machines that deploy differ by less.
const MOST_AHEAD_MS: i64 = 5 * MINUTE_MS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_links_without_a_user_are_safe() {
        for url in ["https://ci.example/run/1?a=b#c", "https://[2001:db8::1]:8443/"] {
            assert!(is_safe_url(url), "{url}");
        }
        for url in [
            "",
            "http://ci.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "//ci.example/",
            "/run/1",
            "https://",
            "https:ci.example",
            "https://ci.example@evil.example/",
            "https://ci.example/a b",
            "https://ci.example/\u{202e}",
            &format!("https://ci.example/{}", "x".repeat(500)),
        ] {
            assert!(!is_safe_url(url), "{url}");
        }
    }

    #[test]
    fn a_title_is_visible_and_in_one_line() {
        for title in ["v42", "Größere Grenzen 日本 🚀", "a < b & \"c\""] {
            assert!(!title.contains(is_hidden), "{title}");
        }
        for title in
            ["a\nb", "a\tb", "a\u{0}b", "a\u{7f}", "a\u{202e}b", "a\u{200b}b", "a\u{2028}b", "a\u{feff}"]
        {
            assert!(title.contains(is_hidden), "{title:?}");
        }
    }

    #[test]
    fn random_ids_are_valid_and_differ() {
        let ids = [random_id(), random_id()];
        assert!(ids.iter().all(|id| is_id(id)) && ids[0] != ids[1], "{ids:?}");
    }
}

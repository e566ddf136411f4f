//! Routes by which the backend sends timings of single streams: in the collector's own format, as payloads of LiteLLM, and
//! as spans of OpenTelemetry. The answer comes once the journal has them.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Request, Uri};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tokio::time::{Duration, timeout};

use crate::config::Config;
use crate::config::token::AllowedSites;
use crate::http::access_control::Access;
use crate::http::counters::FactResult;
use crate::http::error::{ApiError, Reason};
use crate::ingest::body::{self, BodyEncoding, BodyLimits};
use crate::ingest::state::IngestState;
use crate::server_timing::matcher::Matcher;
use crate::server_timing::received_fact::ReceivedFacts;
use crate::server_timing::{litellm, own_json, traces};
use crate::time;

/// What became of the timings of a request.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Taken {
    /// Timings that are stored. Some wait for the report of their stream.
    accepted: u64,
    /// Items that say nothing about a stream.
    skipped: u64,
    refused: u64,
    /// Why the first of them was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_refusal: Option<String>,
}

/// Handles timings in the collector's own format.
pub(crate) async fn own(
    State(state): State<Arc<IngestState>>,
    access: Access,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let taken = receive(&state, &access, request, Some(JSON), own_json::read).await?;
    Ok(Json(taken).into_response())
}

/// Handles payloads of LiteLLM's `generic_api`, which names no type for lines of them.
pub(crate) async fn litellm(
    State(state): State<Arc<IngestState>>,
    access: Access,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let taken = receive(&state, &access, request, None, litellm::read).await?;
    Ok(Json(taken).into_response())
}

/// Handles spans by OTLP/HTTP.
pub(crate) async fn traces(
    State(state): State<Arc<IngestState>>,
    access: Access,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let is_json = content_type(request.headers()).eq_ignore_ascii_case(JSON);
    let taken = match is_json {
        true => receive(&state, &access, request, Some(JSON), traces::read_json).await?,
        false => receive(&state, &access, request, Some(PROTOBUF), traces::read_protobuf).await?,
    };
    let Taken { refused, first_refusal, .. } = taken;
    if is_json {
        let message = first_refusal.unwrap_or_default();
        let partial = json!({ "rejectedSpans": refused.to_string(), "errorMessage": message });
        let answer = if refused > 0 { json!({ "partialSuccess": partial }) } else { json!({}) };
        return Ok(Json(answer).into_response());
    }
    let answer = traces::protobuf_answer(refused, first_refusal);
    Ok(([(CONTENT_TYPE, HeaderValue::from_static(PROTOBUF))], answer).into_response())
}

/// Reads a request within its bounds, and takes the timings in it.
async fn receive(
    state: &IngestState,
    access: &Access,
    request: Request<Body>,
    expected_type: Option<&str>,
    read_body: fn(&[u8], &str) -> Result<ReceivedFacts, ApiError>,
) -> Result<Taken, ApiError> {
    let (head, body) = request.into_parts();
    let matcher = matcher(state)?;
    state.check_memory()?;
    let site = site(&state.config, &access.sites, &head.uri)?;
    if let Some(expected) = expected_type
        && !content_type(&head.headers).eq_ignore_ascii_case(expected)
    {
        let message = format!("unsupported content type: use {expected}");
        return Err(ApiError::new(Reason::UnsupportedMediaType, message));
    }
    let packing = BodyEncoding::of(&head.headers)?;
    body::check_length(&head.headers, LIMITS)?;
    let (bytes, _memory) = body::read(body, packing, LIMITS, state.timings_memory.space(None)).await?;
    take(state, matcher, read_body(&bytes, site)?).await
}

fn matcher(state: &IngestState) -> Result<&Matcher, ApiError> {
    state.matcher.as_deref().ok_or_else(|| {
        ApiError::new(Reason::NotFound, "no token of the configuration has the scope `server_timings`")
    })
}

/// The site that the timings belong to: the only one that the token is limited to, or the one that the request names.
fn site<'a>(config: &'a Config, allowed: &AllowedSites, uri: &Uri) -> Result<&'a str, ApiError> {
    let mut parameters = uri.query().unwrap_or_default().split('&').filter(|parameter| !parameter.is_empty());
    let named = match (parameters.next(), parameters.next()) {
        (None, _) => None,
        (Some(parameter), None) if parameter.starts_with("site=") => parameter.strip_prefix("site="),
        _ => return Err(ApiError::new(Reason::BadQuery, "the only parameter is `site`, the name of a site")),
    };
    let mut sites = config.sites.iter().map(|site| &*site.name).filter(|site| allowed.allows(site));
    match named {
        Some(named) => sites.find(|site| *site == named).ok_or_else(|| {
            ApiError::new(
                Reason::SiteForbidden,
                "`site` is not the name of a site that the token may send for",
            )
        }),
        None => match (sites.next(), sites.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(ApiError::new(
                Reason::BadQuery,
                "the token is for several sites: add `?site=NAME`, or limit the token to one site",
            )),
        },
    }
}

/// The content type without its parameters.
fn content_type(headers: &HeaderMap) -> &str {
    let header = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim()
}

/// Matches the timings with streams, and waits until the journal has both.
async fn take(state: &IngestState, matcher: &Matcher, received: ReceivedFacts) -> Result<Taken, ApiError> {
    let ReceivedFacts { mut facts, skipped, refused, first_refusal } = received;
    if let Some(id_hash) = &state.id_hash {
        for fact in facts.iter_mut().filter(|fact| !fact.response_id.is_empty()) {
            fact.response_id = id_hash.of(&fact.site, &fact.response_id);
        }
    }
    state.counters.facts(FactResult::Refused, refused);
    let accepted = facts.len() as u64;
    let batches = matcher.add_facts(time::now_ms(), facts, &state.counters);
    let wait_for = Duration::from_secs(state.config.journal.wait_seconds.into());
    let write = async {
        let mut written = Vec::with_capacity(batches.len());
        for batch in &batches {
            // The journal's queue takes a limited number of batches at once.
            written.push(state.journal.append_facts(batch)?);
            if written.len() >= AT_ONCE {
                wait_for_all(&mut written).await?;
            }
        }
        wait_for_all(&mut written).await
    };
    let too_slow = || {
        ApiError::new(
            Reason::StorageUnavailable,
            "the timings did not reach the disk in time; send them again",
        )
    };
    timeout(wait_for, write).await.map_err(|_elapsed| too_slow())??;
    Ok(Taken { accepted, skipped, refused, first_refusal })
}

async fn wait_for_all(written: &mut Vec<impl Future<Output = Result<(), ApiError>>>) -> Result<(), ApiError> {
    for written in written.drain(..) {
        written.await?;
    }
    Ok(())
}

/// The OpenTelemetry collector sends batches of 8,192 spans. They compress well.
const LIMITS: BodyLimits =
    BodyLimits { bytes: 4 * 1024 * 1024, decompressed_bytes: 20 * 1024 * 1024, seconds: 10 };

const AT_ONCE: usize = 64;
const JSON: &str = "application/json";
const PROTOBUF: &str = "application/x-protobuf";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_is_named_or_the_only_one() {
        let mut config = Config::default();
        let first = config.sites[0].clone();
        config.sites =
            ["chat", "shop"].map(|name| crate::config::Site { name: name.into(), ..first.clone() }).into();
        let only = |names: &[&str]| {
            AllowedSites::from(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        let of = |allowed: &AllowedSites, uri: &str| {
            site(&config, allowed, &uri.parse().unwrap()).map(str::to_owned).map_err(|refused| refused.reason)
        };
        assert_eq!(of(&AllowedSites::All, "/v1/server-timings?site=shop"), Ok("shop".to_owned()));
        assert_eq!(of(&only(&["chat"]), "/v1/server-timings"), Ok("chat".to_owned()));
        assert_eq!(of(&AllowedSites::All, "/v1/server-timings"), Err(Reason::BadQuery));
        assert_eq!(of(&only(&["chat"]), "/v1/server-timings?site=shop"), Err(Reason::SiteForbidden));
        assert_eq!(of(&AllowedSites::All, "/v1/server-timings?site=none"), Err(Reason::SiteForbidden));
        assert_eq!(of(&AllowedSites::All, "/v1/server-timings?sites=chat"), Err(Reason::BadQuery));
        assert_eq!(of(&AllowedSites::All, "/v1/server-timings?site=chat&site=shop"), Err(Reason::BadQuery));
    }
}

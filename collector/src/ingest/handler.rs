//! `POST /v1/beacons?site=KEY`: checks the request, validates its reports and answers 204 once the journal has them.
//! Every refusal is counted by reason.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CONTENT_TYPE, EXPECT, ORIGIN, USER_AGENT,
    VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, request};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use crate::config::Site;
use crate::http::client_ip::{ClientNetwork, Peer, is_forwarded};
use crate::http::counters::RequestTicket;
use crate::http::error::{ApiError, Reason};
use crate::http::headers::RESOURCE_POLICY;
use crate::http::rate_limit::RetryAfter;
use crate::http::recent_refusals::Sender;
use crate::http::request_origin::check_one_host;
use crate::ingest::body::{self, BodyEncoding, BodyLimits};
use crate::ingest::site::{IngestSite, SiteLimit};
use crate::ingest::state::IngestState;
use crate::ingest::validate::{ValidatedBatch, validate};
use crate::journal::batch::Batch;
use crate::report::accepted::AcceptedReport;
use crate::report::country::Country;
use crate::report::source::ReportSource;
use crate::time;

/// Handles all methods of the route, because the response to a refused method needs CORS headers too.
pub(crate) async fn beacons(State(state): State<Arc<IngestState>>, request: Request<Body>) -> Response {
    let state = &*state;
    let ticket = state.counters.received();
    let (head, body) = request.into_parts();
    let site = find_site(state, &head);
    let known = site.as_ref().ok().copied();
    let readable_by = readable_by(known, &head.headers);
    let answer = match head.method {
        Method::POST => post(state, &head, body, site, ticket).await,
        Method::OPTIONS => match preflight(&head.headers, site) {
            Ok(allowed) => {
                ticket.preflight();
                Ok(allowed)
            }
            Err(refused) => refuse(ticket, refused),
        },
        _ => {
            refuse(ticket, ApiError::new(Reason::MethodNotAllowed, "method not allowed: use POST or OPTIONS"))
        }
    };
    if let Err(refused) = &answer {
        let origin = head.headers.get(ORIGIN).map(HeaderValue::as_bytes);
        let sender = Sender { origin, key: site_parameter(&head), site: known.map(|open| &*open.site.name) };
        state.counters.recent.record(time::now_ms(), refused.reason, &sender);
    }
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, OPTIONS"));
    }
    add_cors(response.headers_mut(), readable_by);
    response
}

async fn post(
    state: &IngestState,
    head: &request::Parts,
    mut body: Body,
    site: Result<&IngestSite, ApiError>,
    ticket: RequestTicket<'_>,
) -> Result<Response, ApiError> {
    let limits = BodyLimits::of_beacon(&state.config.ingest);
    let (open, network, packing) = match check_head(state, head, site) {
        Ok(checked) => checked,
        Err(refused) => {
            let asks_first = head.headers.contains_key(EXPECT);
            if !asks_first {
                body::discard(&mut body).await;
            }
            return refuse(ticket, refused);
        }
    };
    let kept = async {
        let read = body::read(body, packing, limits, state.room.space(network)).await;
        let (bytes, space) = read.map_err(|refused| {
            charge_network(state, network, refused.bytes / BYTES_OF_A_REPORT).err().unwrap_or(refused.error)
        })?;
        // The first report was charged on arrival.
        let of_bytes = (bytes.len().max(space.received_bytes()) / BYTES_OF_A_REPORT).max(1);
        charge_network(state, network, of_bytes - 1)?;
        let received_ms = time::now_ms();
        let hash = |number| Some(state.visits.hash(&open.site.name, number, received_ms));
        let ValidatedBatch { mut reports, discarded } = validate(&bytes, agent(&head.headers), open, hash)?;
        let of_reports = reports.len() + discarded.sampled_out as usize;
        charge_network(state, network, of_reports.saturating_sub(of_bytes))?;
        let source = network.map_or(ReportSource::Unnamed, |network| state.networks.source(network));
        charge_site(open, source, of_reports, received_ms)?;
        if reports.is_empty() {
            return Ok(Err(discarded));
        }
        let country = country(state, head);
        if let Some(id_hash) = &state.id_hash {
            for AcceptedReport { report, .. } in &mut reports {
                for id in [&mut report.response_id, &mut report.server_id] {
                    *id = id.take().map(|id| id_hash.of(&open.site.name, &id).into());
                }
            }
        }
        if let Some(matcher) = &state.matcher {
            matcher.add_to_reports(received_ms, country, &mut reports, &state.counters);
        }
        // Behind a proxy that names no client, many networks look like one: label limits take none of them for known.
        let source = if network == Some(ClientNetwork::UNKNOWN) { ReportSource::Unnamed } else { source };
        state.journal.append(&Batch { received_ms, source, country, reports, discarded }).map(Ok)
    };
    match kept.await {
        Err(refused) => return refuse(ticket, refused),
        Ok(Err(all_discarded)) => ticket.sampled_out(&open.site.name, all_discarded),
        Ok(Ok(kept)) => {
            ticket.hand_over();
            let wait_for = Duration::from_secs(state.config.journal.wait_seconds.into());
            timeout(wait_for, kept).await.unwrap_or_else(|_elapsed| Err(too_slow(state)))?;
        }
    }
    let mut kept = Response::new(Body::empty());
    *kept.status_mut() = StatusCode::NO_CONTENT;
    Ok(kept)
}

/// Runs all checks that need no body.
fn check_head<'a>(
    state: &IngestState,
    head: &request::Parts,
    site: Result<&'a IngestSite, ApiError>,
) -> Result<(&'a IngestSite, Option<ClientNetwork>, BodyEncoding), ApiError> {
    let network = check_network(state, head)?;
    state.check_memory()?;
    check_one_host(head)?;
    let open = site?;
    check_origin(&open.site, &head.headers)?;
    if let Some(key) = &open.signing_key {
        key.check(site_parameter(head).unwrap_or_default(), time::now_ms())?;
    }
    open.site.filters.check(&head.headers)?;
    check_share(state, open, network)?;
    check_type(&head.headers)?;
    let packing = BodyEncoding::of(&head.headers)?;
    body::check_length(&head.headers, BodyLimits::of_beacon(&state.config.ingest))?;
    Ok((open, network, packing))
}

/// Comes first, so that requests with unknown site keys use up their network's rate too.
fn check_network(state: &IngestState, head: &request::Parts) -> Result<Option<ClientNetwork>, ApiError> {
    let limits = &state.config.ingest;
    let peer = head.extensions.get::<Peer>().copied().unwrap_or(Peer::Own);
    let network = peer.network(&head.headers, limits);
    let is_forwarded = || is_forwarded(&head.headers, limits.client_header.as_ref());
    if peer == Peer::Own && is_forwarded() {
        state.unnamed_proxy.call_once(warn_of_unnamed_proxy);
    }
    let Some(network) = network else { return Ok(None) };
    state.networks.take(network, time::steady()).map_err(|limited| {
        if matches!(peer, Peer::Own | Peer::OwnProxy) && !is_forwarded() {
            state.limited_loopback.call_once(warn_of_limited_loopback);
        }
        network_limited(limited)
    })?;
    Ok(Some(network))
}

fn warn_of_limited_loopback() {
    tracing::warn!(
        "Beacons of this machine exceed `ingest.network_rate`. If they come through a proxy, let it name its clients: \
         proxies = [\"127.0.0.1\", \"::1\"] and client_header = \"x-forwarded-for\". If only programs of this machine \
         send without a proxy, such as a load test, set trust_loopback = true"
    );
}

fn warn_of_unnamed_proxy() {
    tracing::warn!(
        "A proxy on this machine passes on beacons, and `ingest.proxies` does not name it: all its clients share one \
         rate. Add: proxies = [\"127.0.0.1\", \"::1\"] and client_header = \"x-forwarded-for\""
    );
}

/// Charges a network for reports that it was not charged for yet.
fn charge_network(
    state: &IngestState,
    network: Option<ClientNetwork>,
    reports: usize,
) -> Result<(), ApiError> {
    match network {
        Some(network) if reports > 0 => {
            state.networks.take_more(network, reports, time::steady()).map_err(network_limited)
        }
        _ => Ok(()),
    }
}

fn network_limited(RetryAfter(wait): RetryAfter) -> ApiError {
    let message = "your network exceeds `ingest.network_rate`";
    ApiError::new(Reason::NetworkLimited, message).retry_after(wait)
}

/// Comes before the body is read, so that a flood costs little.
fn check_share(
    state: &IngestState,
    open: &IngestSite,
    network: Option<ClientNetwork>,
) -> Result<(), ApiError> {
    match (&open.limit, network) {
        (SiteLimit::FairShare(share), Some(network)) => {
            share.check(state.networks.source(network), time::now_ms()).map_err(share_limited)
        }
        _ => Ok(()),
    }
}

/// Comes last, so that an invalid beacon uses up only its sender's rate, not the site's.
fn charge_site(open: &IngestSite, source: ReportSource, reports: usize, now_ms: i64) -> Result<(), ApiError> {
    match &open.limit {
        SiteLimit::Rate(limit) => limit.take(time::steady()).map_err(|RetryAfter(wait)| {
            ApiError::new(Reason::SiteLimited, "the site exceeds its `rate`").retry_after(wait)
        }),
        SiteLimit::FairShare(share) => share.take(source, reports as u64, now_ms).map_err(share_limited),
    }
}

fn share_limited(RetryAfter(wait): RetryAfter) -> ApiError {
    let message = "the site gets far more than in its past, and your network exceeds its share";
    ApiError::new(Reason::ShareLimited, message).retry_after(wait)
}

/// The disk may still complete the write. If the client sends the beacon again, its reports are recognized
/// and count once.
fn too_slow(state: &IngestState) -> ApiError {
    state.health.journal_is_too_slow();
    ApiError::new(
        Reason::StorageUnavailable,
        "the beacon did not reach the disk within `journal.wait_seconds`",
    )
}

/// A body is charged as one report for each 2,048 bytes that arrive or that it decompresses to, before it is parsed, and
/// if it is refused: a small compressed body can be as much work as a hundred reports. The probe's reports are shorter.
const BYTES_OF_A_REPORT: usize = 2_048;

/// The `User-Agent`; empty if the header is missing.
fn agent(headers: &HeaderMap) -> &[u8] {
    headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default()
}

fn country(state: &IngestState, head: &request::Parts) -> Option<Country> {
    let peer = head.extensions.get::<Peer>()?;
    state.countries.of(*peer, &head.headers, &state.config.ingest)
}

fn refuse<T>(ticket: RequestTicket<'_>, refused: ApiError) -> Result<T, ApiError> {
    ticket.refuse(refused.reason);
    Err(refused)
}

/// Browsers send a preflight before `application/json` or a compressed body.
fn preflight(headers: &HeaderMap, site: Result<&IngestSite, ApiError>) -> Result<Response, ApiError> {
    check_origin(&site?.site, headers)?;
    let allowed = [
        (ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST")),
        (ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("content-type, content-encoding")),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600")),
    ];
    Ok((StatusCode::NO_CONTENT, allowed).into_response())
}

/// Keys and tokens consist of characters that need no percent-encoding.
fn site_parameter(head: &request::Parts) -> Option<&str> {
    let mut parameters = head.uri.query().unwrap_or_default().split('&');
    parameters.find_map(|parameter| parameter.strip_prefix("site="))
}

fn find_site<'a>(state: &'a IngestState, head: &request::Parts) -> Result<&'a IngestSite, ApiError> {
    site_parameter(head).and_then(|parameter| state.sites.by_parameter(parameter)).ok_or_else(|| {
        ApiError::new(Reason::UnknownSite, "unknown site key: pass a configured key as `?site=KEY`")
    })
}

/// Accepts requests without `Origin`: they come from no page in a browser. Keys are public, so refusing such
/// requests would stop native clients but no attacker.
fn check_origin(site: &Site, headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get(ORIGIN) {
        Some(origin) if !allows(site, origin) => {
            Err(ApiError::new(Reason::ForeignOrigin, "this origin is not in the site's `origins`"))
        }
        _ => Ok(()),
    }
}

/// Origin whose pages may read the response: an allowed origin of the site. If no site is found, any origin,
/// so that the developer of a page can read that its key is wrong.
fn readable_by(site: Option<&IngestSite>, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    site.is_none_or(|open| allows(&open.site, origin)).then(|| origin.clone())
}

fn allows(site: &Site, origin: &HeaderValue) -> bool {
    origin.to_str().is_ok_and(|origin| site.origins.iter().any(|allowed| allowed.allows(origin)))
}

fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    if ["text/plain", "application/json"].iter().any(|known| essence.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    Err(ApiError::new(
        Reason::UnsupportedMediaType,
        "unsupported content type: use text/plain or application/json",
    ))
}

fn add_cors(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    headers.insert(VARY, HeaderValue::from_static("origin"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after"));
    }
}

/// Path of the ingest endpoint.
pub(crate) const PATH: &str = "/v1/beacons";

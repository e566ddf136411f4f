//! What browsers load: a path comes in, goes out the dashboard or the probe, embedded in the binary
//! when it was built. In debug builds they are read from their folders.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::error::{ApiError, Reason};
use crate::ingest::RESOURCE_POLICY;

#[derive(RustEmbed)]
#[folder = "../probe-wasm/dist"]
#[allow_missing = true]
struct Probe;

#[derive(RustEmbed)]
#[folder = "../www/dist"]
#[allow_missing = true]
struct Dashboard;

/// The probe, for pages of any origin.
pub(crate) async fn probe(uri: Uri, headers: HeaderMap) -> Response {
    let name = uri.path().trim_start_matches('/');
    let Some(file) = Probe::get(name) else {
        let message = "this binary was built without the probe: run `cargo xtask build` and build it again";
        return ApiError::new(Reason::NotFound, message).into_response();
    };
    // Pages name it without a version: an hour bounds how long an old one lives.
    let mut response = serve(name, file, "public, max-age=3600", &headers);
    response.headers_mut().insert("access-control-allow-origin", HeaderValue::from_static("*"));
    response.headers_mut().insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    response
}

/// The dashboard and its files.
pub(crate) async fn dashboard(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if !matches!(method, Method::GET | Method::HEAD) {
        return ApiError::new(Reason::MethodNotAllowed, "only GET").into_response();
    }
    let name = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        name => name,
    };
    match Dashboard::get(name) {
        // Vite names the files in `assets` after their content.
        Some(file) if name.starts_with("assets/") => {
            serve(name, file, "public, max-age=31536000, immutable", &headers)
        }
        Some(file) => secured(serve(name, file, "no-cache", &headers)),
        None if name == "index.html" => secured(Html(WITHOUT_DASHBOARD).into_response()),
        None => ApiError::new(Reason::NotFound, "no such route").into_response(),
    }
}

fn serve(name: &str, file: EmbeddedFile, cache: &'static str, asked: &HeaderMap) -> Response {
    let etag = etag(&file);
    let known = asked.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
    let content = match file.data {
        _ if known => Body::empty(),
        Cow::Borrowed(bytes) => Body::from(bytes),
        Cow::Owned(bytes) => Body::from(bytes),
    };
    let mut response = Response::new(content);
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(NO_SNIFF.0, NO_SNIFF.1);
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(ETAG, etag);
    }
    response
}

fn etag(file: &EmbeddedFile) -> String {
    let hash = file.metadata.sha256_hash();
    let start: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{start}\"")
}

/// Nothing but what this server serves may run on or be loaded by the page, and nobody may frame it.
fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert("content-security-policy", HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert(NO_SNIFF.0, NO_SNIFF.1);
    response
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "ts" | "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

const NO_SNIFF: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));

const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const WITHOUT_DASHBOARD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
    <title>llm-rum</title><h1>llm-rum</h1>\
    <p>This binary was built without the dashboard: run <code>cargo xtask build</code> and build it again.</p>\
    <p>Its data is at <a href=\"/v1/summary\">/v1/summary</a> and <a href=\"/metrics\">/metrics</a>.</p>\n";

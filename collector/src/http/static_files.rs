//! Serves the dashboard's files, which are embedded in the binary, compressed as the browser accepts them. Debug
//! builds read them from their folder.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::http::content_encoding::ContentCoding;
use crate::http::error::{ApiError, Reason};

#[derive(RustEmbed)]
#[folder = "../www/dist"]
#[allow_missing = true]
struct Dashboard;

/// A file to be served.
pub(crate) struct Asset {
    content_type: &'static str,
    content: Body,
    etag: String,
    coding: Option<ContentCoding>,
}

/// The dashboard and its files.
pub(crate) async fn dashboard(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let name = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        name => name,
    };
    let file = Asset::embedded::<Dashboard>(name, &headers);
    if (file.is_some() || name == "index.html") && !matches!(method, Method::GET | Method::HEAD) {
        let refused = ApiError::new(Reason::MethodNotAllowed, "method not allowed: use GET");
        return ([(ALLOW, "GET,HEAD")], refused).into_response();
    }
    match file {
        // Vite names the files in `assets` after their content.
        Some(file) if name.starts_with("assets/") => file.serve(CACHE_FOREVER, &headers),
        Some(file) => secured(file.serve("no-cache", &headers), CONTENT_SECURITY_POLICY),
        None if name == "index.html" => {
            secured(Html(WITHOUT_DASHBOARD).into_response(), CONTENT_SECURITY_POLICY)
        }
        None => ApiError::new(Reason::NotFound, "unknown route").into_response(),
    }
}

impl Asset {
    pub(crate) fn new(name: &str, content: impl Into<Body>, etag: String) -> Self {
        Self { content_type: content_type(name), content: content.into(), etag, coding: None }
    }

    /// An embedded file, in a coding that the client accepts. `None` if no file has this name.
    pub(crate) fn embedded<Files: RustEmbed>(name: &str, asked: &HeaderMap) -> Option<Self> {
        let file = Files::get(name)?;
        let etag = tag(&file);
        let compressed =
            ContentCoding::taken(asked).find_map(|coding| Some((coding, Files::get(&coding.of(name))?)));
        Some(match compressed {
            Some((coding, file)) => Self::new(name, content(file), etag).compressed(coding),
            None => Self::new(name, content(file), etag),
        })
    }

    /// Marks the content as compressed with `coding`. The ETag differs, so that caches distinguish the forms.
    pub(crate) fn compressed(self, coding: ContentCoding) -> Self {
        let etag = format!("\"{}-{}\"", self.etag.trim_matches('"'), coding.as_str());
        Self { etag, coding: Some(coding), ..self }
    }

    /// Responds to a request with the headers `asked`: 304 if the client has this version already.
    pub(crate) fn serve(self, cache: &'static str, asked: &HeaderMap) -> Response {
        let known = asked.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == self.etag.as_bytes());
        let mut response = Response::new(if known { Body::empty() } else { self.content });
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        headers.insert(NO_SNIFF.0, NO_SNIFF.1);
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if let Some(coding) = self.coding.filter(|_| !known) {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.as_str()));
        }
        if let Ok(etag) = HeaderValue::from_str(&self.etag) {
            headers.insert(ETAG, etag);
        }
        response
    }
}

fn tag(file: &EmbeddedFile) -> String {
    let hash = file.metadata.sha256_hash();
    let start: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{start}\"")
}

fn content(file: EmbeddedFile) -> Body {
    match file.data {
        Cow::Borrowed(bytes) => Body::from(bytes),
        Cow::Owned(bytes) => Body::from(bytes),
    }
}

/// Adds security headers. `policy` says which sources the page may load and run, and forbids framing.
pub(crate) fn secured(mut response: Response, policy: &'static str) -> Response {
    let headers = response.headers_mut();
    headers.insert("content-security-policy", HeaderValue::from_static(policy));
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
        "tgz" => "application/gzip",
        "woff2" => "font/woff2",
        "ts" | "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// `Cache-Control` of files that have their version in the address.
pub(crate) const CACHE_FOREVER: &str = "public, max-age=31536000, immutable";
pub(crate) const CACHE_ONE_HOUR: &str = "public, max-age=3600";

const NO_SNIFF: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));

/// Allows only files that this server serves.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const WITHOUT_DASHBOARD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
    <title>llm-rum</title><h1>llm-rum</h1>\
    <p>This binary was built without the dashboard: run <code>cargo xtask build</code> and build the binary again.</p>\
    <p>Its data is at <a href=\"/v1/summary\">/v1/summary</a> and <a href=\"/metrics\">/metrics</a>.</p>\n";

//! The chat page: fills the embedded template with the settings. The HTML loads the probe as a user's page
//! would.

use std::fmt::Write;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rust_embed::{Embed, EmbeddedFile};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::api::Api;
use crate::scenario::TABLE;

/// Files that `npm run build` in `web` creates.
#[derive(Embed)]
#[folder = "web/dist"]
#[allow_missing = true]
struct Built;

/// Files that `cargo xtask build` creates; only the inline stub is used here.
#[derive(Embed)]
#[folder = "../probe-wasm/dist"]
#[include = "stub.js"]
#[allow_missing = true]
struct Probe;

/// Settings of the page.
#[derive(Debug, Clone)]
pub struct Page {
    /// Origin of the collector, without a trailing slash.
    collector: String,
    /// Site key that the probe sends.
    site: String,
    /// Model that the page requests.
    model: String,
}

/// Why a page cannot be set up.
#[derive(Debug, PartialEq, Eq)]
pub struct PageError {
    collector: String,
}

/// How the page loads the probe, from its query string.
#[derive(Debug, Deserialize)]
struct Loading {
    probe: Option<String>,
    with: Option<String>,
    csp: Option<String>,
}

impl Loading {
    /// The extensions to load with the probe. `None` for a page without the probe.
    fn extensions(&self) -> Option<&str> {
        let with_probe = self.probe.as_deref() != Some("off");
        with_probe.then(|| self.with.as_deref().unwrap_or(EVERY_EXTENSION))
    }
}

impl Page {
    /// A page whose probe reports to `collector`, an `http` or `https` address without a path.
    ///
    /// # Errors
    /// If `collector` is not such an address.
    pub fn new(collector: &str, site: &str, model: &str) -> Result<Self, PageError> {
        let refused = || PageError { collector: collector.to_owned() };
        let uri: Uri = collector.parse().map_err(|_| refused())?;
        match (uri.scheme_str(), uri.authority(), uri.path()) {
            (Some(scheme @ ("http" | "https")), Some(authority), "/" | "") => {
                let collector = format!("{scheme}://{authority}");
                Ok(Self { collector, site: site.to_owned(), model: model.to_owned() })
            }
            _ => Err(refused()),
        }
    }

    /// The site that the page's streams belong to.
    pub(crate) fn site(&self) -> &str {
        &self.site
    }

    /// `extensions` lists the extensions to load with the probe; `None` leaves the probe out.
    fn html(&self, template: &str, extensions: Option<&str>, stub: Option<&str>) -> String {
        let (collector, site) = (escaped(&self.collector), escaped(&self.site));
        let mut probe = String::new();
        if let Some(extensions) = extensions {
            if let Some(stub) = stub {
                write!(probe, "<script>{stub}</script>\n    ").expect(TAKEN);
            }
            // Without a `Referer` the collector serves the build that users get, although the demo is on loopback.
            let referrer = r#"referrerpolicy="no-referrer""#;
            let tag = format!(
                r#"<script async src="{collector}/llm-rum.js" {referrer} data-site="{site}"></script>"#
            );
            probe.push_str(&tag);
            if !extensions.is_empty() {
                let more = format!(r#"data-with="{}" data-socket="/socket""#, escaped(extensions));
                write!(probe, "\n    <script async src=\"{collector}/llm-rum-more.js\" {more}></script>")
                    .expect(TAKEN);
            }
        }
        let apis = Api::ALL.iter().map(|api| (api.name(), api.label(), None));
        let scenarios = TABLE.iter().map(|row| (row.name, row.label, row.only));
        template
            .replace("{{collector}}", &collector)
            .replace("{{model}}", &escaped(&self.model))
            .replace("{{apis}}", &options(apis))
            .replace("{{scenarios}}", &options(scenarios))
            .replace("<!-- probe -->", &probe)
    }

    /// `strict` forbids WebAssembly and `wasm` allows it. Both allow the inline stub by its digest.
    fn policy(&self, csp: &str, stub: Option<&str>) -> Option<String> {
        let wasm = match csp {
            "strict" => "",
            "wasm" => " 'wasm-unsafe-eval'",
            _ => return None,
        };
        let stub = stub.map_or_else(String::new, |stub| {
            format!(" 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(stub)))
        });
        Some(format!("script-src 'self' {}{stub}{wasm}", self.collector))
    }
}

impl std::fmt::Display for PageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "collector `{}` is not an http(s) address without a path", self.collector)
    }
}

impl std::error::Error for PageError {}

pub(crate) fn routes<S>(page: Page) -> Router<S> {
    Router::new().route("/", get(index)).route("/assets/{file}", get(asset)).with_state(Arc::new(page))
}

async fn index(State(page): State<Arc<Page>>, Query(loading): Query<Loading>) -> Response {
    let Some(template) = Built::get("index.html").and_then(text) else {
        return (StatusCode::SERVICE_UNAVAILABLE, NOT_BUILT).into_response();
    };
    let stub = Probe::get("stub.js").and_then(text);
    let stub = stub.as_deref().map(str::trim);
    let html = page.html(&template, loading.extensions(), stub);
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let csp = loading.csp.and_then(|csp| page.policy(&csp, stub));
    if let Some(csp) = csp {
        let csp = HeaderValue::from_str(&csp).expect("an origin and a digest are plain ASCII");
        headers.insert(header::CONTENT_SECURITY_POLICY, csp);
    }
    (headers, html).into_response()
}

async fn asset(Path(file): Path<String>) -> Response {
    let content_type = match file.rsplit_once('.').map(|(_, extension)| extension) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    match Built::get(&file) {
        Some(file) => {
            let headers = [(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-cache")];
            (headers, file.data).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn text(file: EmbeddedFile) -> Option<String> {
    String::from_utf8(file.data.into_owned()).ok()
}

/// Options of a list. `data-only` names the only API that a scenario supports.
fn options<'a>(rows: impl Iterator<Item = (&'a str, &'a str, Option<Api>)>) -> String {
    rows.fold(String::new(), |mut html, (value, label, only)| {
        let only = only.map_or_else(String::new, |api| format!(r#" data-only="{}""#, api.name()));
        write!(html, r#"<option value="{value}"{only}>{}</option>"#, escaped(label)).expect(TAKEN);
        html
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const EVERY_EXTENSION: &str = "eventSource xhr webSocket paint networkTiming lastWord probeOverhead";

const TAKEN: &str = "a string takes what is written to it";

const NOT_BUILT: &str =
    "The chat page is not built: run `cargo xtask build`, then build the demo site again.";

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        Page::new("http://127.0.0.1:8787/", "a\"b", "m").unwrap()
    }

    #[test]
    fn the_page_has_stub_and_script_tag_unless_left_out() {
        let html = |extensions, stub| page().html("<head><!-- probe --></head>", extensions, stub);
        let src = r#"src="http://127.0.0.1:8787/llm-rum.js" referrerpolicy="no-referrer""#;
        let tag = format!(r#"<script async {src} data-site="a&quot;b"></script>"#);
        assert_eq!(html(Some(""), Some("tap()")), format!("<head><script>tap()</script>\n    {tag}</head>"));
        assert_eq!(html(Some(""), None), format!("<head>{tag}</head>"));
        assert_eq!(html(None, Some("tap()")), "<head></head>");
        let more = r#"data-with="paint &quot;x" data-socket="/socket""#;
        let more = format!(r#"<script async src="http://127.0.0.1:8787/llm-rum-more.js" {more}></script>"#);
        assert_eq!(html(Some("paint \"x"), None), format!("<head>{tag}\n    {more}</head>"));
    }

    #[test]
    fn every_extension_is_loaded_unless_the_query_names_others() {
        let asked = |probe: Option<&str>, with: Option<&str>| Loading {
            probe: probe.map(str::to_owned),
            with: with.map(str::to_owned),
            csp: None,
        };
        assert_eq!(asked(None, None).extensions(), Some(EVERY_EXTENSION));
        assert_eq!(asked(None, Some("paint")).extensions(), Some("paint"));
        assert_eq!(asked(None, Some("")).extensions(), Some(""));
        assert_eq!(asked(Some("off"), Some("paint")).extensions(), None);
    }

    #[test]
    fn the_csp_allows_the_stub_by_digest_and_wasm_on_request() {
        let digest = "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='";
        let strict = format!("script-src 'self' http://127.0.0.1:8787 {digest}");
        assert_eq!(page().policy("strict", Some("abc")), Some(strict.clone()));
        assert_eq!(page().policy("wasm", Some("abc")), Some(format!("{strict} 'wasm-unsafe-eval'")));
        assert_eq!(page().policy("other", Some("abc")), None);
    }

    #[test]
    fn a_collector_must_be_an_origin() {
        for wrong in ["127.0.0.1:8787", "ftp://host", "http://host/path", "http://a b", ""] {
            assert!(Page::new(wrong, "demo", "m").is_err(), "{wrong}");
        }
    }
}

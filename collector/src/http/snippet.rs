//! `/snippet`: everything that a page needs to load the probe, as a page for people and as JSON. Integrity hashes are
//! those of the bytes that this binary serves.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, HOST};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{Html, IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::config::origin::{Origin, is_loopback_host};
use crate::http::error::{ApiError, Reason};
use crate::http::probe_files::{DEVELOPMENT, ProbeFile, ProbeVersions, SCRIPT, WITHOUT_PROBE};
use crate::http::static_files::{Asset, CACHE_ONE_HOUR, secured};

/// Query parameters. Without a site, the page asks for one.
#[derive(Default, Deserialize)]
pub(crate) struct Asked {
    site: Option<String>,
    /// Address at which browsers reach this collector. Default: derived from the request's `Host`.
    collector: Option<String>,
}

/// Everything that a page needs to load the probe.
#[derive(Serialize)]
struct Snippet {
    collector: String,
    site: String,
    /// The tag for the page's head.
    tag: String,
    script: File,
    wasm: File,
    /// Wasm that the probe loads when a page has a stream in a rarer format.
    wasm_all: File,
    /// Extensions that observe more than `fetch`.
    more: Extensions,
    stub: Stub,
    csp: Policy,
    npm: Package,
}

/// A file that a page loads.
#[derive(Serialize)]
struct File {
    url: String,
    /// One hash, or several separated by a space: the file must have one of them.
    integrity: String,
}

/// A second tag for the head. The page shortens its `data-with` to the extensions that it uses.
#[derive(Serialize)]
struct Extensions {
    tag: String,
    #[serde(flatten)]
    script: File,
}

/// A script that may be inlined before everything else in the page.
#[derive(Serialize)]
struct Stub {
    tag: String,
    /// Its hash as a source for `script-src`.
    csp: String,
}

/// Sources that a page's content security policy has to allow in addition.
#[derive(Serialize)]
struct Policy {
    #[serde(rename = "script-src")]
    script_src: Vec<String>,
    #[serde(rename = "connect-src")]
    connect_src: Vec<String>,
}

/// The same probe as an npm package.
#[derive(Serialize)]
struct Package {
    install: String,
    module: String,
    csp: Policy,
}

/// `/snippet` as an HTML page.
pub(crate) async fn page(
    State(config): State<Arc<Config>>,
    State(probes): State<Arc<ProbeVersions>>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let asked = asked.map(|Query(asked)| asked).unwrap_or_default();
    let collector = asked.collector.clone().or_else(|| address(&headers)).unwrap_or_default();
    let site = site(&config, asked.site);
    let (status, body) = if site.is_empty() {
        (None, String::new())
    } else {
        match Snippet::new(&config, &probes, &site, &collector) {
            Ok(snippet) => {
                let is_own = is_own(&config, &headers, &snippet.collector);
                let warning = if is_own { String::new() } else { foreign_address(&snippet.collector) };
                (None, warning + &snippet.html())
            }
            Err(refused) => {
                let text = format!("<p class=\"bad\" role=\"alert\">{}</p>", escaped(refused.message()));
                (Some(refused.reason), text)
            }
        }
    };
    let html =
        filled(TEMPLATE, &[("site", &escaped(&site)), ("collector", &escaped(&collector)), ("body", &body)]);
    let mut response = secured(Html(html).into_response(), CONTENT_SECURITY_POLICY);
    if let Some(reason) = status {
        *response.status_mut() = reason.status();
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// `/snippet` as JSON.
pub(crate) async fn json(
    State(config): State<Arc<Config>>,
    State(probes): State<Arc<ProbeVersions>>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Query(asked) = asked.map_err(|wrong| ApiError::new(Reason::BadQuery, wrong.body_text()))?;
    let collector = asked.collector.or_else(|| address(&headers)).unwrap_or_default();
    let snippet = Snippet::new(&config, &probes, &site(&config, asked.site), &collector)?;
    Ok(([(CACHE_CONTROL, "no-store")], Json(snippet)).into_response())
}

/// Style sheet of the page.
pub(crate) async fn style(headers: HeaderMap) -> Response {
    Asset::new("page.css", STYLE, format!("\"{:x}\"", crc32fast::hash(STYLE.as_bytes())))
        .serve(CACHE_ONE_HOUR, &headers)
}

/// The requested key, or the first configured one. Keys are public, but their list is not, so there is no
/// default if readers must sign in.
fn site(config: &Config, asked: Option<String>) -> String {
    let local = !config.needs_sign_in();
    let first = || config.sites.first().and_then(|site| site.keys.first()).filter(|_| local).cloned();
    asked.filter(|site| !site.is_empty()).or_else(first).unwrap_or_default()
}

/// Address that the request was sent to. A collector speaks plain HTTP, and browsers use that only on its own
/// machine; elsewhere a proxy in front of it speaks HTTPS.
fn address(headers: &HeaderMap) -> Option<String> {
    let host = headers.get(HOST)?.to_str().ok()?.to_ascii_lowercase();
    let scheme = if is_loopback_host(&host) { "http" } else { "https" };
    Some(format!("{scheme}://{host}"))
}

/// Whether the lines load code from here, as far as the request and the configuration tell.
fn is_own(config: &Config, headers: &HeaderMap, collector: &str) -> bool {
    let known = [address(headers), config.public_url.clone()];
    known.iter().flatten().any(|known| known.trim_end_matches('/') == collector)
}

/// A link to this page can name any address.
fn foreign_address(collector: &str) -> String {
    let collector = escaped(collector);
    format!(
        "<p class=\"bad\" role=\"alert\">These lines load code from {collector}, which is neither the address of this page \
         nor the collector's <code>public_url</code>. Use them only if it is yours.</p>"
    )
}

impl Snippet {
    fn new(config: &Config, probes: &ProbeVersions, site: &str, collector: &str) -> Result<Self, ApiError> {
        if !config.sites.iter().any(|known| known.keys.iter().any(|key| key == site)) {
            let message = "unknown site key: use one of the `keys` in `[[sites]]` of the configuration";
            return Err(ApiError::new(Reason::UnknownSite, message));
        }
        let Ok(Origin::Exact(collector)) = Origin::try_from(collector.trim_end_matches('/').to_owned())
        else {
            let message =
                "the collector's address is not valid: write it as `https://rum.example`, in lower case";
            return Err(ApiError::new(Reason::BadQuery, message));
        };
        let names = [SCRIPT, DEVELOPMENT, "llm-rum.wasm", "llm-rum-all.wasm", "llm-rum-more.js", "stub.js"];
        let [Some(script), Some(development), Some(wasm), Some(wasm_all), Some(more), Some(stub)] =
            names.map(ProbeFile::get)
        else {
            return Err(ApiError::new(Reason::NotFound, WITHOUT_PROBE));
        };
        let base = format!("{collector}/probe/{}", probes.version());
        let file =
            |name, file: &ProbeFile| File { url: format!("{base}/{name}"), integrity: file.integrity() };
        let (mut script, wasm) = (file(SCRIPT, &script), file("llm-rum.wasm", &wasm));
        // Pages on loopback get the development build from the same address.
        script.integrity = format!("{} {}", script.integrity, development.integrity());
        let (wasm_all, more) = (file("llm-rum-all.wasm", &wasm_all), file("llm-rum-more.js", &more));
        // The probe runs one of the two.
        let hashes = format!("{} {}", wasm.integrity, wasm_all.integrity);
        let tag = script.tag(&format!("data-wasm-integrity=\"{hashes}\" data-site=\"{site}\""));
        let with = "data-with=\"failures eventSource xhr paint networkTiming\"";
        let more = Extensions { tag: more.tag(with), script: more };
        let stub =
            Stub { tag: format!("<script>{}</script>", stub.text()), csp: format!("'{}'", stub.integrity()) };
        let csp = Policy {
            script_src: vec![collector.clone(), stub.csp.clone(), WASM.to_owned()],
            connect_src: vec![collector.clone()],
        };
        let npm = Package::new(site, &collector, &base);
        Ok(Self { site: site.to_owned(), collector, tag, script, wasm, wasm_all, more, stub, csp, npm })
    }

    fn html(&self) -> String {
        let policy = |Policy { script_src, connect_src }: &Policy| {
            format!("script-src {}; connect-src {}", script_src.join(" "), connect_src.join(" "))
        };
        let npm = &self.npm;
        let own = policy(&npm.csp);
        let json = format!("snippet.json?site={}&collector={}", self.site, self.collector);
        let lines = [
            ("tag", &self.tag),
            ("more", &self.more.tag),
            ("stub", &self.stub.tag),
            ("csp", &policy(&self.csp)),
            ("install", &npm.install),
            ("module", &npm.module),
            ("npm-csp", &own),
            ("json", &json),
        ];
        let escaped = lines.map(|(name, text)| (name, escaped(text)));
        filled(BODY, &escaped.each_ref().map(|(name, text)| (*name, text.as_str())))
    }
}

impl File {
    fn tag(&self, data: &str) -> String {
        let Self { url, integrity } = self;
        format!(
            "<script async src=\"{url}\" integrity=\"{integrity}\" crossorigin=\"anonymous\" {data}></script>"
        )
    }
}

impl Package {
    fn new(site: &str, collector: &str, base: &str) -> Self {
        let module = format!(
            "import {{ start }} from \"llm-rum\";\n\n\
             export const probe = start({{ collector: \"{collector}\", site: \"{site}\" }});"
        );
        let csp = Policy {
            script_src: vec![WASM.to_owned()],
            connect_src: vec!["'self'".to_owned(), collector.to_owned()],
        };
        Self { install: format!("npm install {base}/llm-rum.tgz"), module, csp }
    }
}

/// Replaces each `{{name}}` in a template by its value, in one pass: values are not searched for names.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{");
    let mut html = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").expect("templates end what they begin");
        let value = values.iter().find(|(known, _)| *known == name);
        let (_, value) = value.expect("templates name what there is");
        html.push_str(value);
        html.push_str(rest);
    }
    html
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut html, letter| {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            _ => html.push(letter),
        }
        html
    })
}

/// Allows WebAssembly, but not `eval`.
const WASM: &str = "'wasm-unsafe-eval'";

const TEMPLATE: &str = include_str!("snippet/page.html");
const BODY: &str = include_str!("snippet/body.html");
/// The dashboard's colours, and the page's own styles.
const STYLE: &str =
    concat!(include_str!("../../../www/src/style/colours.css"), include_str!("snippet/page.css"));

const CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_addresses_are_free_of_a_warning() {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("Inner.example"))]);
        let config = Config { public_url: Some("https://rum.example/".to_owned()), ..Config::default() };
        for (address, expected) in [
            ("https://inner.example", true),
            ("https://rum.example", true),
            ("http://inner.example", false),
            ("https://rum.example.evil", false),
        ] {
            assert_eq!(is_own(&config, &headers, address), expected, "{address}");
        }
        assert!(foreign_address("https://<b>").contains("from https://&lt;b&gt;,"));
    }

    #[test]
    fn placeholders_inside_a_value_are_not_filled() {
        let values = [("site", "{{body}}"), ("body", "<p>{{site}}</p>")];
        assert_eq!(filled("<a>{{site}}</a>{{body}}!", &values), "<a>{{body}}</a><p>{{site}}</p>!");
    }
}

//! A page of somebody's app: its head and its policy come in, a server of its own hands it out.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::Result;
use axum::Router;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::Html;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The page, at an origin of its own; it goes with this value.
pub struct AppPage {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    serving: JoinHandle<()>,
}

impl AppPage {
    /// Serves it. What its policy has stopped is listed in `window.violations`; the probe's script and
    /// Wasm lie beside it under `/own/`.
    ///
    /// # Errors
    /// When no port is free, or the probe has not been built.
    pub async fn serve(head: &str, policy: &str) -> Result<Self> {
        let html =
            format!("<!doctype html><html><head><script src=\"/first.js\"></script>{head}</head></html>");
        let policy = policy.to_owned();
        let page = move || async move { ([(CONTENT_SECURITY_POLICY, policy)], Html(html)) };
        let own = |name, kind| -> Result<_> {
            let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../probe-wasm/dist").join(name);
            let content = std::fs::read(dist)?;
            Ok(get(async move || ([(CONTENT_TYPE, kind)], content)))
        };
        let router = Router::new()
            .route("/", get(page))
            .route("/first.js", get(async || ([(CONTENT_TYPE, "text/javascript")], FIRST)))
            .route("/own/llm-rum.js", own("llm-rum.js", "text/javascript")?)
            .route("/own/llm-rum.wasm", own("llm-rum.wasm", "application/wasm")?);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let serving = tokio::spawn(async move {
            // It fails only when the listener does, and then the page is not there.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, serving })
    }
}

impl Drop for AppPage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Before everything else in the page.
const FIRST: &str = "
window.violations = [];
document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    window.violations.push(violatedDirective + ' ' + blockedURI));
window.refused = [];
window.addEventListener('error', ({ target }) => target.src && window.refused.push(target.src), true);";

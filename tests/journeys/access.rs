//! Who may read: a browser that signs in and out, and an nginx that signs users in, as the documentation sets it up.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use beacon::Batch;
use serde_json::{Value, json};
use tests::{Browser, Collector, eventually, http, nginx, report};
use tokio::net::TcpListener;

const TOKEN: &str = "a-token-of-shop-0123456789";

pub(super) async fn collector(data: &Path, config: &str) -> Result<Collector> {
    let file = data.join("llm-rum.toml");
    std::fs::write(&file, config)?;
    Collector::start_with(data, &["--config", file.to_str().context("a plain name")?]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_signs_in_once_and_out() -> Result<()> {
    let data = tempfile::tempdir()?;
    let config = format!(
        "[[tokens]]\nname = 'shop-team'\ntoken = '{TOKEN}'\nsites = ['shop']\n\
         [[sites]]\nname = 'demo'\nkeys = ['demo']\norigins = ['loopback']\nfilters.bots = false\n\
         [[sites]]\nname = 'shop'\nkeys = ['shop']\norigins = ['loopback']\nfilters.bots = false\n"
    );
    let collector = collector(data.path(), &config).await?;
    for (site, numbers) in [("demo", 0..7), ("shop", 100..103)] {
        let reports = numbers.map(report).collect();
        collector.send(site, serde_json::to_string(&Batch { reports })?).await?;
    }
    let browser = Browser::start().await?;
    browser.page.goto(&format!("{}/?range=1h", collector.url)).await?;
    state(&browser, "locked").await?;
    sign_in(&browser, "a-wrong-token-0123456789").await?;
    eventually("the reason", || async {
        let alert = text(&browser, "[role=alert]").await.ok()?;
        (alert == "Token rejected.").then_some(())
    })
    .await?;
    sign_in(&browser, TOKEN).await?;
    state(&browser, "ready").await?;
    eventually("the streams of its site", || async {
        let streams = text(&browser, "[data-tile=streams] [data-value]").await.ok()?;
        streams.starts_with('3').then_some(())
    })
    .await?;
    shown(&browser, "[data-live=live]").await?;
    keeps_no_token(&browser).await?;

    browser.page.refresh().await?;
    state(&browser, "ready").await?;
    shown(&browser, "[data-sign-out]").await?;
    browser.page.goto(&format!("{}/?site=demo", collector.url)).await?;
    state(&browser, "error").await?;
    let banner = text(&browser, "[data-banner]").await?;
    ensure!(banner.contains("limited to other sites"), "{banner}");

    browser.page.goto(&collector.url).await?;
    shown(&browser, "[data-sign-out]").await?;
    browser.run("document.querySelector('[data-sign-out]').click()", vec![]).await?;
    state(&browser, "locked").await?;
    browser.page.refresh().await?;
    state(&browser, "locked").await?;
    ensure!(browser.page.get_all_cookies().await?.is_empty(), "the cookie is gone");
    browser.close().await
}

/// Neither the address, the storage nor the scripts of the page have the token; the cookie is for the browser alone.
async fn keeps_no_token(browser: &Browser) -> Result<()> {
    let kept = "return [location.href, document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage)]";
    let kept = browser.run(kept, vec![]).await?.to_string();
    ensure!(!kept.contains(TOKEN) && !kept.contains("llm_rum_session"), "{kept}");
    let cookie = browser.page.get_named_cookie("llm_rum_session").await?;
    ensure!(cookie.http_only() == Some(true), "{cookie}");
    ensure!(cookie.same_site().is_some_and(|site| site.is_strict()), "{cookie}");
    ensure!(!cookie.value().contains(TOKEN), "{cookie}");
    Ok(())
}

async fn sign_in(browser: &Browser, token: &str) -> Result<()> {
    let script = "
        const input = document.querySelector('[data-sign-in] input[type=password]');
        input.value = args[0];
        input.dispatchEvent(new InputEvent('input', { bubbles: true }));
        await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
        document.querySelector('[data-sign-in] button').click();";
    browser.run(script, vec![token.into()]).await.map(drop)
}

async fn shown(browser: &Browser, selector: &str) -> Result<()> {
    eventually(selector, || async { text(browser, selector).await.ok().map(drop) }).await
}

async fn state(browser: &Browser, wanted: &str) -> Result<()> {
    let script = "return document.documentElement.dataset.state";
    eventually(&format!("dashboard state {wanted}"), || async {
        (browser.page.execute(script, vec![]).await.ok()? == wanted).then_some(())
    })
    .await
}

async fn text(browser: &Browser, selector: &str) -> Result<String> {
    let script = "return document.querySelector(arguments[0])?.innerText ?? null";
    let text = browser.page.execute(script, vec![selector.into()]).await?;
    Ok(text.as_str().with_context(|| format!("{selector} is on the page"))?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_signs_users_in_as_documented() -> Result<()> {
    let data = tempfile::tempdir()?;
    let config = "[ingest]\nproxies = ['127.0.0.1']\nclient_header = 'x-forwarded-for'\n\
                  [auth_proxy]\nheader = 'x-forwarded-user'\n";
    let collector = collector(data.path(), config).await?;
    let locations = documented_locations(&collector.url, &sign_in_service().await?)?;
    let (_nginx, url) = nginx(data.path(), &locations).await?;
    let client = http();
    let ask = async |path: &str, headers: &[(&str, &str)]| {
        let request = client.get(format!("{url}{path}"));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        anyhow::Ok(request.send().await?)
    };
    // Strangers are sent to sign in, whatever user they claim to be.
    for headers in
        [&[][..], &[("x-forwarded-user", "jane")], &[("cookie", "sso=joe"), ("x-forwarded-user", "jane")]]
    {
        for path in ["/", "/v1/summary", "/metrics"] {
            let answer = ask(path, headers).await?.text().await?;
            ensure!(answer.starts_with("sign in"), "{path} {headers:?}: {answer}");
        }
    }
    let user = [("cookie", "sso=jane"), ("x-forwarded-user", "joe")];
    let session: Value = ask("/v1/session", &user).await?.json().await?;
    ensure!(session == json!({ "signed_in_by": "proxy", "name": "jane" }), "{session}");
    ensure!(ask("/", &user).await?.text().await?.contains("llm-rum"), "the dashboard");
    let mut live = ask("/v1/live", &[user[0], ("accept", "text/event-stream")]).await?;
    let event = live.chunk().await?.context("an event")?;
    ensure!(event.starts_with(b"data: "), "{event:?}");

    // Pages of users send without signing in, and read nothing.
    let beacon = client.post(format!("{url}/v1/beacons?site=demo")).header("content-type", "text/plain");
    let beacon = beacon.body(serde_json::to_string(&Batch { reports: vec![report(1)] })?).send().await?;
    ensure!(beacon.status() == 204, "{}", beacon.text().await?);
    ensure!(ask("/llm-rum.d.ts", &[]).await?.status() != 302, "the probe");
    // Past the proxy's sign-in, the header alone opens nothing to other machines: `tests/it/auth_proxy.rs`.
    let direct = http().get(format!("{}/v1/summary", collector.url)).send().await?;
    ensure!(direct.status() == 401, "{}", direct.status());
    Ok(())
}

/// An authentication service as oauth2-proxy is one: it knows Jane by her cookie.
async fn sign_in_service() -> Result<String> {
    let check = async |headers: HeaderMap| {
        let cookie = headers.get("cookie").and_then(|cookie| cookie.to_str().ok());
        match cookie.and_then(|cookie| cookie.strip_prefix("sso=")) {
            Some("jane") => (StatusCode::ACCEPTED, [("x-auth-request-user", "jane")]).into_response(),
            _ => StatusCode::UNAUTHORIZED.into_response(),
        }
    };
    let routes = Router::new()
        .route("/oauth2/auth", get(check))
        .route("/oauth2/sign_in", get(async || (StatusCode::FORBIDDEN, "sign in at oauth2-proxy")));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(address)
}

/// The locations of `docs/sign-in.md`.
fn documented_locations(collector: &str, sign_in_service: &str) -> Result<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sign-in.md");
    let docs = std::fs::read_to_string(docs)?;
    let mut blocks = docs.split("```nginx\n").skip(1).filter_map(|block| block.split("```").next());
    let locations = blocks.find(|block| block.contains("/oauth2/auth")).context("locations in the text")?;
    let collector = collector.strip_prefix("http://").context("an address")?;
    Ok(locations.replace("127.0.0.1:8787", collector).replace("127.0.0.1:4180", sign_in_service))
}

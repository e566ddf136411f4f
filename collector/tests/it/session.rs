//! Signing a browser in and out.

use std::fs;
use std::time::Instant;

use axum::http::Method;
use collector::Scope;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Answer, TIMEOUT, TestCollector, token};
use crate::running::Process;

const TOKEN: &str = "0123456789abcdef0123";
const LIMITED: &str = "limited-0123456789";
const SCRAPER: &str = "scraper-0123456789";
const WRONG: &str = "a-wrong-token-of-26-bytes";

/// What the browser adds to a request of the dashboard.
const OWN_PAGE: [(&str, &str); 3] =
    [("host", "rum.example"), ("origin", "https://rum.example"), ("sec-fetch-site", "same-origin")];

fn with_tokens() -> TestCollector {
    TestCollector::with(|config| {
        let (mut limited, mut scraper) = (token("team", LIMITED), token("prometheus", SCRAPER));
        limited.sites = vec!["demo".to_owned()].into();
        scraper.scopes = vec![Scope::Metrics];
        config.tokens = vec![token("ops", TOKEN), limited, scraper];
    })
}

async fn sign_in_with(collector: &TestCollector, token: &str, headers: &[(&str, &str)]) -> Answer {
    let headers = [headers, &[("content-type", "application/json")]].concat();
    collector.ask(Method::POST, "/v1/session", &headers, json!({ "token": token }).to_string()).await
}

/// The cookie of a new session, as the browser sends it back.
async fn sign_in(collector: &TestCollector, token: &str) -> String {
    let answer = sign_in_with(collector, token, &OWN_PAGE).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.headers["cache-control"], "no-store");
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    assert!(!cookie.contains(token), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

async fn get(collector: &TestCollector, path: &str, cookie: &str) -> Answer {
    collector.ask(Method::GET, path, &[("host", "rum.example"), ("cookie", cookie)], String::new()).await
}

#[tokio::test]
async fn a_session_reads_what_its_token_reads() {
    let collector = with_tokens();
    for (token, expected) in [
        (TOKEN, json!({ "signed_in_by": "session", "name": "ops" })),
        (LIMITED, json!({ "signed_in_by": "session", "name": "team", "sites": ["demo"] })),
    ] {
        let cookie = sign_in(&collector, token).await;
        assert_eq!(get(&collector, "/v1/summary", &cookie).await.status, 200);
        let session: Value =
            serde_json::from_str(&get(&collector, "/v1/session", &cookie).await.body).unwrap();
        assert_eq!(session, expected);
        get(&collector, "/metrics", &cookie).await.refused(403, "missing_scope");
        let other_site = get(&collector, "/v1/summary?site=other", &cookie).await.status;
        assert_eq!(other_site, if token == TOKEN { 200 } else { 403 });
    }
    sign_in_with(&collector, SCRAPER, &OWN_PAGE).await.refused(403, "missing_scope");
}

#[tokio::test]
async fn the_collector_says_who_a_request_comes_from() {
    let open = TestCollector::new();
    assert_eq!(open.json("/v1/session").await, json!({ "signed_in_by": "nothing" }));
    let collector = with_tokens();
    collector.get("/v1/session").await.refused(401, "unauthorized");
    let authorization = format!("Bearer {LIMITED}");
    let answer =
        collector.ask(Method::GET, "/v1/session", &[("authorization", &authorization)], String::new()).await;
    let expected = json!({ "signed_in_by": "token", "name": "team", "sites": ["demo"] });
    assert_eq!(serde_json::from_str::<Value>(&answer.body).unwrap(), expected);
}

#[tokio::test]
async fn the_cookie_is_secure_if_the_browser_uses_https() {
    let collector = with_tokens();
    let http = [("host", "rum.example:8787"), ("origin", "http://rum.example:8787")];
    let behind_proxy = [&http[..], &[("x-forwarded-proto", "https")]].concat();
    for (headers, is_secure) in [(&OWN_PAGE[..], true), (&http, false), (&behind_proxy, true)] {
        let signed_in = sign_in_with(&collector, TOKEN, headers).await;
        let signed_out = collector.ask(Method::DELETE, "/v1/session", headers, String::new()).await;
        assert_eq!((signed_in.status.as_u16(), signed_out.status.as_u16()), (200, 204));
        for answer in [&signed_in, &signed_out] {
            let cookie = answer.headers["set-cookie"].to_str().unwrap();
            assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
            assert_eq!(cookie.contains("; Secure"), is_secure, "{headers:?}: {cookie}");
        }
        let removed = signed_out.headers["set-cookie"].to_str().unwrap();
        assert!(removed.starts_with("llm_rum_session=; Path=/; Max-Age=0;"), "{removed}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_sign_nobody_in_or_out() {
    let collector = with_tokens();
    let cookie = sign_in(&collector, TOKEN).await;
    for headers in [
        &[("host", "rum.example"), ("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")][..],
        &[("host", "rum.example"), ("origin", "https://other.rum.example"), ("sec-fetch-site", "same-site")],
        &[("host", "rum.example"), ("origin", "https://evil.example")],
        &[("host", "rum.example"), ("origin", "null")],
        &[("host", "rum.example")],
    ] {
        let answer = sign_in_with(&collector, TOKEN, headers).await;
        answer.refused(403, "cross_origin");
        assert!(!answer.headers.contains_key("set-cookie"));
        let headers = [headers, &[("cookie", cookie.as_str())]].concat();
        let answer = collector.ask(Method::DELETE, "/v1/session", &headers, String::new()).await;
        answer.refused(403, "cross_origin");
        assert!(!answer.headers.contains_key("set-cookie"));
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            let answer = collector.ask(method, "/v1/summary", &headers, String::new()).await;
            answer.refused(403, "cross_origin");
        }
    }
    let own = [&OWN_PAGE[..], &[("cookie", cookie.as_str())]].concat();
    let answer = collector.ask(Method::POST, "/v1/summary", &own, String::new()).await;
    answer.refused(405, "method_not_allowed");
    let authorization = format!("Bearer {TOKEN}");
    let program = [("authorization", authorization.as_str())];
    let answer = collector.ask(Method::POST, "/v1/summary", &program, String::new()).await;
    answer.refused(405, "method_not_allowed");
}

#[tokio::test]
async fn a_session_survives_a_restart_and_ends_with_its_token() {
    let mut collector = with_tokens();
    let cookie = sign_in(&collector, TOKEN).await;
    collector.restart();
    assert_eq!(get(&collector, "/v1/summary", &cookie).await.status, 200);
    collector.config.tokens.remove(0);
    collector.restart();
    let refused = get(&collector, "/v1/summary", &cookie).await;
    refused.refused(401, "session_ended");
    assert_eq!(refused.headers["www-authenticate"], "Bearer");
}

#[tokio::test]
async fn a_forged_cookie_is_no_session() {
    let collector = with_tokens();
    let cookie = sign_in(&collector, LIMITED).await;
    let (ends, signature) = cookie.split_once('.').unwrap();
    let (start, last) = ends.split_at(ends.len() - 1);
    let later = format!("{start}{}.{signature}", if last == "9" { "8" } else { "9" });
    for forged in [later.as_str(), ends, "llm_rum_session=", "llm_rum_session=99999999999.AAAA"] {
        get(&collector, "/v1/summary", forged).await.refused(401, "session_ended");
    }
    get(&collector, "/v1/summary", "session=1").await.refused(401, "unauthorized");
}

#[tokio::test]
async fn a_refused_sign_in_repeats_nothing_of_the_token() {
    let collector = with_tokens();
    let json = ("content-type", "application/json");
    for (content_type, body, status, code) in [
        (json, json!({ "token": WRONG }).to_string(), 401, "wrong_token"),
        (json, format!("{{\"token\":\"{WRONG}\"}} {WRONG}"), 400, "bad_json"),
        (json, json!({ WRONG: TOKEN }).to_string(), 400, "bad_json"),
        (json, json!({ "token": [WRONG] }).to_string(), 400, "bad_json"),
        (json, json!({ "token": WRONG.repeat(200) }).to_string(), 413, "body_too_large"),
        (
            ("content-type", "text/plain"),
            json!({ "token": TOKEN }).to_string(),
            415,
            "unsupported_media_type",
        ),
    ] {
        let headers = [&OWN_PAGE[..], &[content_type]].concat();
        let answer = collector.ask(Method::POST, "/v1/session", &headers, body).await;
        let message = answer.refused(status, code);
        assert!(!message.contains(WRONG) && !answer.headers.contains_key("set-cookie"), "{message}");
    }
    let asked = collector.ask(Method::PUT, "/v1/session", &OWN_PAGE, String::new()).await;
    asked.refused(405, "method_not_allowed");
    let in_address = format!("/v1/summary?token={TOKEN}");
    get(&collector, &in_address, "").await.refused(401, "unauthorized");
}

#[test]
fn wrong_tokens_of_one_network_do_not_limit_another() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("llm-rum.toml");
    let config = format!(
        "[ingest]\nproxies = ['127.0.0.1']\nclient_header = 'x-forwarded-for'\n\
         [[tokens]]\nname = 'ops'\ntoken = '{TOKEN}'\n"
    );
    fs::write(&file, config).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    command.arg("--data").arg(folder.path().join("data"));
    let process = Process::spawn(&mut command);
    let mut client = process.connect();
    let mut sign_in = |token: &str, from: &str| {
        let body = json!({ "token": token }).to_string();
        let request = format!(
            "POST /v1/session HTTP/1.1\r\nhost: rum\r\norigin: http://rum\r\nx-forwarded-for: {from}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        client.whole_answer_to(&request)
    };
    let signed_in = sign_in(TOKEN, "192.0.2.1");
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap();
    let asked = Instant::now();
    while sign_in(WRONG, "192.0.2.1").status != 429 {
        assert!(asked.elapsed() < TIMEOUT, "wrong tokens are never limited");
    }
    // The neighbour shares the limit.
    assert_eq!(sign_in(TOKEN, "192.0.2.254").status, 429);
    assert_eq!(sign_in(TOKEN, "198.51.100.1").status, 200);
    let request = format!(
        "GET /v1/summary HTTP/1.1\r\nhost: rum\r\nx-forwarded-for: 192.0.2.1\r\ncookie: {cookie}\r\n\r\n"
    );
    assert_eq!(process.connect().ask(&request).unwrap().0, 200, "those who are signed in go on");
}

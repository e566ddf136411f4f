//! Markers that operators and their programs post, and those that streams tell.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::http::{Method, Request};
use beacon::{Page, StreamReport};
use collector::{Config, Scope, Site};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Answer, TestCollector, scoped_token, stream};
use crate::running::Process;

const WRITER: &str = "writer-0123456789ab";
const READER: &str = "reader-0123456789ab";
const LIMITED: &str = "limited-0123456789a";
const OF_BLOG: &str = "of-blog-0123456789a";

/// Two sites; tokens that post, read, and do both for one site alone.
fn config(config: &mut Config) {
    let of =
        |name: &str| Site { name: name.to_owned(), keys: vec![name.to_owned()], ..config.sites[0].clone() };
    config.sites = vec![of("shop"), of("blog")];
    config.tokens = vec![
        scoped_token("ci", WRITER, &[Scope::Markers], &[]),
        scoped_token("ops", READER, &[Scope::Read], &[]),
        scoped_token("shop-team", LIMITED, &[Scope::Read, Scope::Markers], &["shop"]),
        scoped_token("blog-team", OF_BLOG, &[Scope::Read, Scope::Markers], &["blog"]),
    ];
}

async fn send(
    collector: &TestCollector,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: String,
) -> Answer {
    collector.ask(method, path, &[&[("host", "rum.example")], headers].concat(), body).await
}

const JSON: (&str, &str) = ("content-type", "application/json");

async fn post(collector: &TestCollector, token: &str, marker: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [JSON, ("authorization", bearer.as_str())];
    send(collector, Method::POST, "/v1/markers", &headers, marker.to_string()).await
}

async fn posted(collector: &TestCollector, token: &str, marker: &Value) -> Value {
    let answer = post(collector, token, marker).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

async fn delete(collector: &TestCollector, token: &str, path: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    send(collector, Method::DELETE, path, &[("authorization", &bearer)], String::new()).await
}

async fn get(collector: &TestCollector, token: &str, path: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    send(collector, Method::GET, path, &[("authorization", &bearer)], String::new()).await
}

/// All markers of the last day.
async fn list(collector: &TestCollector, token: &str, filter: &str) -> Vec<Value> {
    let answer = get(collector, token, &format!("/v1/markers?range=24h{filter}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer["omitted"], 0, "{answer}");
    answer["markers"].as_array().unwrap().clone()
}

fn titles(markers: &[Value]) -> Vec<&str> {
    markers.iter().map(|marker| marker["title"].as_str().unwrap()).collect()
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

#[tokio::test]
async fn a_posted_marker_is_listed_at_once() {
    let collector = TestCollector::with(config);
    let before = now_ms();
    let later = posted(&collector, WRITER, &json!({ "title": "  v42 \u{1f680} " })).await;
    let at = later["timestamp_ms"].as_i64().unwrap();
    assert!((before..=now_ms()).contains(&at), "{later}");
    let id = later["id"].as_str().unwrap();
    assert_eq!(later, json!({ "timestamp_ms": at, "kind": "deploy", "title": "v42 \u{1f680}", "id": id }));
    let earlier = json!({
        "title": "new prompt", "timestamp_ms": at - 60_000, "kind": "config", "site": "shop",
        "url": "https://ci.example/run/7", "id": "run-7",
    });
    assert_eq!(posted(&collector, WRITER, &earlier).await, earlier);
    assert_eq!(list(&collector, READER, "").await, [earlier, later.clone()]);
    assert_eq!(titles(&list(&collector, READER, "&site=blog").await), ["v42 \u{1f680}"]);
    assert_eq!(titles(&list(&collector, READER, "&kind=config&kind=incident").await), ["new prompt"]);
    assert_eq!(list(&collector, READER, "&kind=!config").await, [later]);
    let csv = get(&collector, READER, "/v1/markers?kind=config&format=csv").await.body;
    let row =
        format!("{},\"config\",\"new prompt\",\"shop\",\"https://ci.example/run/7\",\"run-7\"", at - 60_000);
    assert_eq!(csv, format!("timestamp_ms,kind,title,site,url,id\r\n{row}\r\n"));
    get(&collector, READER, "/v1/markers?kind=rollback").await.refused(400, "bad_query");
}

#[tokio::test]
async fn posted_markers_stand_between_releases() {
    let collector = TestCollector::with(config);
    let of_release = |first: u128, release: &str| -> Vec<StreamReport> {
        let page = || Some(Page { release: Some(release.to_owned().into()), ..Page::default() });
        (first..first + 60).map(|id| StreamReport { page: page(), ..stream(id, 100.0) }).collect()
    };
    let counted = async |streams: u64| {
        let asked = std::time::Instant::now();
        loop {
            let summary: Value =
                serde_json::from_str(&get(&collector, READER, "/v1/summary").await.body).unwrap();
            if summary["streams"] == streams {
                return;
            }
            assert!(asked.elapsed() < crate::harness::TIMEOUT, "{summary}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    collector.report_as("shop", &of_release(1, "v1")).await;
    counted(60).await;
    posted(&collector, WRITER, &json!({ "title": "gateway 2" })).await;
    collector.report_as("shop", &of_release(101, "v2")).await;
    counted(120).await;
    posted(&collector, WRITER, &json!({ "title": "after" })).await;
    let all = list(&collector, READER, "").await;
    assert_eq!(titles(&all), ["gateway 2", "v2", "after"], "v1 was in use from the start");
    let release = &all[1];
    let at = &release["timestamp_ms"];
    assert_eq!(*release, json!({ "timestamp_ms": at, "kind": "release", "title": "v2", "site": "shop" }));
    assert_eq!(titles(&list(&collector, READER, "&kind=!release").await), ["gateway 2", "after"]);
    assert_eq!(titles(&list(&collector, READER, "&kind=release").await), ["v2"]);
    assert_eq!(titles(&list(&collector, OF_BLOG, "").await), ["gateway 2", "after"]);
}

#[tokio::test]
async fn the_same_id_twice_is_one_marker() {
    let collector = TestCollector::with(config);
    let first = posted(&collector, WRITER, &json!({ "title": "v42", "id": "deploy-42" })).await;
    let again = post(&collector, WRITER, &json!({ "title": "retried", "id": "deploy-42" })).await;
    assert_eq!(again.status, 200, "{}", again.body);
    assert_eq!(serde_json::from_str::<Value>(&again.body).unwrap(), first, "the first one stays");
    // Each site has ids of its own, so that no token learns of another site's.
    posted(&collector, LIMITED, &json!({ "title": "v42", "id": "deploy-42", "site": "shop" })).await;
    posted(&collector, OF_BLOG, &json!({ "title": "v42", "id": "deploy-42", "site": "blog" })).await;
    assert_eq!(list(&collector, READER, "").await.len(), 3);
}

#[tokio::test]
async fn a_mistaken_marker_can_be_deleted() {
    let collector = TestCollector::with(config);
    posted(&collector, WRITER, &json!({ "title": "v42", "id": "a" })).await;
    posted(&collector, WRITER, &json!({ "title": "v42", "id": "a", "site": "shop" })).await;
    delete(&collector, OF_BLOG, "/v1/markers/a").await.refused(403, "site_forbidden");
    delete(&collector, OF_BLOG, "/v1/markers/a?site=shop").await.refused(403, "site_forbidden");
    delete(&collector, OF_BLOG, "/v1/markers/a?site=blog").await.refused(404, "unknown_marker");
    delete(&collector, WRITER, "/v1/markers/%ff").await.refused(400, "bad_query");
    delete(&collector, READER, "/v1/markers/a").await.refused(403, "missing_scope");
    assert_eq!(list(&collector, READER, "").await.len(), 2);
    let deleted = delete(&collector, WRITER, "/v1/markers/a").await;
    assert_eq!((deleted.status.as_u16(), deleted.body.as_str()), (204, ""));
    assert_eq!(list(&collector, READER, "").await[0]["site"], "shop");
    assert_eq!(delete(&collector, LIMITED, "/v1/markers/a?site=shop").await.status, 204);
    delete(&collector, LIMITED, "/v1/markers/a?site=shop").await.refused(404, "unknown_marker");
    posted(&collector, WRITER, &json!({ "title": "v43", "id": "a" })).await;
    assert_eq!(titles(&list(&collector, READER, "").await), ["v43"]);
}

#[tokio::test]
async fn a_marker_beyond_the_limits_is_refused() {
    let collector = TestCollector::with(config);
    let day_ms = 86_400_000;
    for (field, value) in [
        ("title", json!("")),
        ("title", json!(" \n ")),
        ("title", json!("x".repeat(101))),
        ("title", json!("two\nlines")),
        ("title", json!("v42 \u{202e}24v")),
        ("timestamp_ms", json!(now_ms() + 6 * 60_000)),
        ("timestamp_ms", json!(now_ms() - 401 * day_ms)),
        ("timestamp_ms", json!(now_ms() / 1_000)),
        ("timestamp_ms", json!(i64::MAX)),
        ("timestamp_ms", json!(i64::MIN)),
        ("site", json!("unheard-of")),
        ("site", json!("")),
        ("kind", json!("release")),
        ("kind", json!("Deploy")),
        ("url", json!("javascript:alert(1)")),
        ("url", json!("http://ci.example/")),
        ("id", json!("")),
        ("id", json!("a/b")),
        ("id", json!("x".repeat(65))),
    ] {
        let mut marker = json!({ "title": "v42" });
        marker[field] = value;
        let message = post(&collector, WRITER, &marker).await.refused(400, "bad_field");
        assert!(message.starts_with(&format!("`{field}`")), "{marker}: {message}");
    }
    for marker in [json!({}), json!([]), json!({ "title": 1 }), json!({ "title": "v", "text": "x" })] {
        post(&collector, WRITER, &marker).await.refused(400, "bad_json");
    }
    post(&collector, WRITER, &json!({ "title": "x".repeat(5_000) })).await.refused(413, "body_too_large");
    assert_eq!(list(&collector, READER, "").await, [] as [Value; 0]);
    let most = json!({
        "title": "日".repeat(100), "timestamp_ms": now_ms() - 399 * day_ms, "kind": "incident",
        "url": format!("https://ci.example/{}", "x".repeat(480)), "id": "x".repeat(64),
    });
    posted(&collector, WRITER, &most).await;
}

#[tokio::test]
async fn only_a_token_with_the_scope_posts() {
    let collector = TestCollector::with(config);
    let marker = json!({ "title": "v42" });
    send(&collector, Method::POST, "/v1/markers", &[JSON], marker.to_string())
        .await
        .refused(401, "unauthorized");
    post(&collector, "a-wrong-token-of-26-bytes", &marker).await.refused(401, "wrong_token");
    let message = post(&collector, READER, &marker).await.refused(403, "missing_scope");
    assert!(message.contains("`markers`"), "{message}");
    get(&collector, WRITER, "/v1/markers").await.refused(403, "missing_scope");
    let path = format!("/v1/markers?token={WRITER}");
    send(&collector, Method::POST, &path, &[JSON], marker.to_string()).await.refused(401, "unauthorized");
    let text = ("content-type", "text/plain");
    let bearer = format!("Bearer {WRITER}");
    let headers = [text, ("authorization", bearer.as_str())];
    let answer = send(&collector, Method::POST, "/v1/markers", &headers, marker.to_string()).await;
    answer.refused(415, "unsupported_media_type");
    let bearer = format!("Bearer {READER}");
    let headers = [JSON, ("authorization", bearer.as_str())];
    let answer = send(&collector, Method::PUT, "/v1/markers", &headers, marker.to_string()).await;
    answer.refused(405, "method_not_allowed");
    assert_eq!(list(&collector, READER, "").await, [] as [Value; 0]);
}

#[tokio::test]
async fn pages_of_other_origins_post_no_marker() {
    let collector = TestCollector::with(config);
    let own = [("origin", "https://rum.example"), ("sec-fetch-site", "same-origin")];
    let foreign = [
        &[("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")][..],
        &[("origin", "https://other.rum.example"), ("sec-fetch-site", "same-site")],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[],
    ];
    let headers = [&own[..], &[JSON]].concat();
    let body = json!({ "token": LIMITED }).to_string();
    let signed_in = send(&collector, Method::POST, "/v1/session", &headers, body).await;
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap();
    let marker = json!({ "title": "v42", "site": "shop", "id": "a" }).to_string();
    let shown = [JSON, ("cookie", cookie)];
    for headers in foreign {
        for (method, path) in [(Method::POST, "/v1/markers"), (Method::DELETE, "/v1/markers/a?site=shop")] {
            let headers = [headers, &shown].concat();
            send(&collector, method, path, &headers, marker.clone()).await.refused(403, "cross_origin");
        }
    }
    let headers = [&own[..], &shown].concat();
    assert_eq!(send(&collector, Method::POST, "/v1/markers", &headers, marker.clone()).await.status, 201);

    // Without tokens, any page could otherwise write to a collector on this machine.
    let open = TestCollector::new();
    let local = |more: &[(&'static str, &'static str)]| {
        let headers = [&[("host", "127.0.0.1:8787"), JSON][..], more].concat();
        let request = Request::post("/v1/markers");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        open.send(request.body(Body::from(json!({ "title": "v42" }).to_string())).unwrap())
    };
    for headers in &foreign[..4] {
        local(headers).await.refused(403, "cross_origin");
    }
    assert_eq!(local(&[]).await.status, 201, "a program on this machine");
    assert_eq!(open.json("/v1/markers").await["markers"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_limited_token_posts_and_reads_only_its_sites() {
    let collector = TestCollector::with(config);
    for site in [json!(null), json!("blog"), json!("unheard-of")] {
        let message = post(&collector, LIMITED, &json!({ "title": "v", "site": site }))
            .await
            .refused(403, "site_forbidden");
        assert!(message.contains("`shop`") && !message.contains("blog"), "{message}");
    }
    for (token, site) in [(WRITER, json!(null)), (WRITER, json!("blog")), (LIMITED, json!("shop"))] {
        posted(&collector, token, &json!({ "title": format!("of {site}"), "site": site })).await;
    }
    assert_eq!(titles(&list(&collector, READER, "").await), ["of null", "of \"blog\"", "of \"shop\""]);
    assert_eq!(titles(&list(&collector, LIMITED, "").await), ["of null", "of \"shop\""]);
    assert_eq!(titles(&list(&collector, LIMITED, "&site=!shop").await), ["of null"]);
    get(&collector, LIMITED, "/v1/markers?site=blog").await.refused(403, "site_forbidden");
}

#[tokio::test]
async fn a_token_posts_at_a_limited_rate() {
    let collector = TestCollector::with(config);
    let mut stored = 0;
    // Faster than one per second, whatever the machine does.
    let refused = loop {
        let answer = post(&collector, WRITER, &json!({ "title": format!("v{stored}") })).await;
        if answer.status != 201 {
            break answer;
        }
        stored += 1;
        assert!(stored < 10_000, "posts are never limited");
    };
    refused.refused(429, "markers_limited");
    assert_eq!(refused.headers["retry-after"], "1");
    assert!(stored >= 60, "{stored}");
    delete(&collector, WRITER, "/v1/markers/a").await.refused(429, "markers_limited");
    posted(&collector, LIMITED, &json!({ "title": "another token", "site": "shop" })).await;
}

#[tokio::test]
async fn an_answer_has_the_newest_markers() {
    let collector = TestCollector::with(config);
    let file = rusqlite::Connection::open(collector.config.data.join("llm-rum.sqlite")).unwrap();
    let insert = "INSERT INTO markers (site, id, timestamp_ms, kind, title, url)
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 503)
        SELECT '', i, ?1 + i, 'deploy', i, '' FROM n";
    file.execute(insert, [now_ms() - 3_000]).unwrap();
    let answer: Value = serde_json::from_str(&get(&collector, READER, "/v1/markers").await.body).unwrap();
    let markers = answer["markers"].as_array().unwrap();
    assert_eq!((markers.len(), &answer["omitted"]), (500, &json!(4)));
    assert_eq!((&markers[0]["title"], &markers[499]["title"]), (&json!("4"), &json!("503")));
}

/// A collector with the token of the docs' CI jobs, which may also read here.
fn start(folder: &Path) -> Process {
    let file = folder.join("llm-rum.toml");
    let site = "[[sites]]\nname = 'shop'\nkeys = ['shop']\norigins = ['loopback']\n";
    fs::write(
        &file,
        format!("{site}[[tokens]]\nname = 'ci'\ntoken = '{WRITER}'\nscopes = ['read', 'markers']\n"),
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    Process::spawn(command.arg("--data").arg(folder.join("data")))
}

#[test]
fn an_answered_marker_survives_kill_9() {
    let folder = TempDir::new().unwrap();
    for number in 1..=5 {
        let mut process = start(folder.path());
        let body = json!({ "title": format!("v{number}") }).to_string();
        let request = format!(
            "POST /v1/markers HTTP/1.1\r\nhost: rum\r\nauthorization: Bearer {WRITER}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(process.connect().whole_answer_to(&request).status, 201);
        process.child.kill().unwrap();
        process.child.wait().unwrap();
    }
    let process = start(folder.path());
    assert_eq!(titles(&list_of(&process)), ["v1", "v2", "v3", "v4", "v5"]);
}

fn list_of(process: &Process) -> Vec<Value> {
    let request = format!("GET /v1/markers HTTP/1.1\r\nhost: rum\r\nauthorization: Bearer {WRITER}\r\n\r\n");
    let answer: Value = serde_json::from_str(&process.connect().ask(&request).unwrap().1).unwrap();
    answer["markers"].as_array().unwrap().clone()
}

const DOCS: &str = include_str!("../../../docs/markers.md");

/// The first block of a language below a heading. Of a block of YAML: the script in it.
fn script(heading: &str, language: &str) -> String {
    let (_, section) = DOCS.split_once(heading).expect(heading);
    let (_, rest) = section.split_once(&format!("```{language}\n")).expect(language);
    let block = rest.split_once("```").unwrap().0;
    let Some((_, script)) = block.split_once("run: |\n").or_else(|| block.split_once("- |\n")) else {
        return block.to_owned();
    };
    let indent = script.len() - script.trim_start().len();
    let lines = script.lines().map(|line| line.get(indent..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_recipes_of_the_docs_post_one_marker_each() {
    let folder = TempDir::new().unwrap();
    let process = start(folder.path());
    let github = "https://github.com/acme/shop/actions/runs/7";
    for (heading, language, expected) in [
        ("## Post one", "sh", json!({ "title": "gateway 2.1", "id": "gateway-2.1", "site": "shop" })),
        (
            "## GitHub Actions",
            "yaml",
            json!({ "title": "deploy 0123456", "id": "github-7-1", "url": github }),
        ),
        (
            "## GitLab CI",
            "yaml",
            json!({ "title": "deploy 01234567", "id": "gitlab-8", "url": "https://gitlab.com/acme/shop/-/pipelines/9" }),
        ),
    ] {
        let before = list_of(&process).len();
        let documented = script(heading, language);
        let own = documented.replace("https://rum.example", &format!("http://{}", process.address));
        assert_ne!(own, documented, "it names the collector");
        // A job that is retried runs it again.
        for _ in 0..2 {
            let run = Command::new("sh")
                .args(["-eu", "-c", &own])
                .env("RUM_TOKEN", WRITER)
                .env("GITHUB_SHA", "0123456789abcdef0123456789abcdef01234567")
                .env("GITHUB_RUN_ID", "7")
                .env("GITHUB_RUN_ATTEMPT", "1")
                .env("GITHUB_SERVER_URL", "https://github.com")
                .env("GITHUB_REPOSITORY", "acme/shop")
                .env("CI_COMMIT_SHORT_SHA", "01234567")
                .env("CI_JOB_ID", "8")
                .env("CI_PIPELINE_URL", "https://gitlab.com/acme/shop/-/pipelines/9")
                .output()
                .unwrap();
            assert!(run.status.success(), "{own}: {}", String::from_utf8_lossy(&run.stderr));
        }
        let markers = list_of(&process);
        assert_eq!(markers.len(), before + 1, "{markers:?}");
        let posted = markers.iter().find(|marker| marker["id"] == expected["id"]).unwrap();
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(posted[field], *value, "{posted}");
        }
    }
    let refused =
        script("## Post one", "sh").replace("https://rum.example", &format!("http://{}", process.address));
    let run = Command::new("sh").args(["-c", &refused]).env("RUM_TOKEN", READER).output().unwrap();
    assert!(!run.status.success(), "a job with a wrong token fails");
}

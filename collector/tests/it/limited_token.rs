//! A token that is limited to sites sees nothing of another site, on any route of `/openapi.json`.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use beacon::{Outcome, StreamReport};
use collector::{Config, Scope, Site, Targets};
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::harness::{Answer, TIMEOUT, TestCollector, beacon_request, stream, token};

const LIMITED: &str = "limited-0123456789";
const UNLIMITED: &str = "unlimited-0123456789";

/// Part of every name that belongs to the other sites, and of nothing else.
const SIGN: &str = "zulu";

fn config(config: &mut Config) {
    let of = |name: &str| {
        let demo = config.sites[0].clone();
        let use_case = format!("{name}-case");
        let targets = Targets { availability: Some(0.999), ..Targets::default() };
        Site {
            name: name.to_owned(),
            keys: vec![format!("{name}-key")],
            targets: [(use_case.clone(), targets.into())].into(),
            use_case,
            ..demo
        }
    };
    // The other sites come first and last: no route may take the first configured site for the reader's.
    config.sites = [of("zulu"), of("shop"), of("blog"), of("zulu-too")].into();
    config.limits.models = 1;
    let mut limited = token("team", LIMITED);
    limited.sites = vec!["shop".to_owned(), "blog".to_owned()].into();
    let mut unlimited = token("ops", UNLIMITED);
    unlimited.scopes.extend([Scope::Metrics, Scope::Markers]);
    let mut of_shop = token("shop-team", &format!("shop-{LIMITED}"));
    of_shop.sites = vec!["shop".to_owned()].into();
    config.tokens = vec![limited, unlimited, of_shop];
}

/// Ten streams, every figure and name of which tells of its site.
async fn send(collector: &TestCollector, site: &str, ttft_ms: f64) {
    let first = ttft_ms as u128 * 1_000;
    let named = |name: &str| Some(format!("{site}-{name}").into());
    let mut reports: Vec<_> = (0..10)
        .map(|n| StreamReport {
            use_case: (n % 2 == 0).then(|| format!("{site}-other-case").into()),
            provider: named("provider"),
            model: named(if n < 5 { "model" } else { "second-model" }),
            response_model: named("response-model"),
            // All of the default use case fail, so that its alerts fire.
            outcome: if n % 2 == 1 { Outcome::Truncated } else { Outcome::Complete },
            ..stream(first + n, ttft_ms)
        })
        .collect();
    reports.push(StreamReport { open: true, model: named("model"), ..stream(first + 10, ttft_ms) });
    let body = json!({ "reports": reports }).to_string();
    let sent = collector.send(beacon_request(&format!("{site}-key")).body(Body::from(body)).unwrap()).await;
    assert_eq!(sent.status, 204, "{}", sent.body);
    let marker = json!({ "title": format!("{site}-deploy"), "site": site }).to_string();
    let post = request("/v1/markers", UNLIMITED).method("POST").header("content-type", "application/json");
    let posted = collector.send(post.body(Body::from(marker)).unwrap()).await;
    assert_eq!(posted.status, 201, "{}", posted.body);
}

async fn collector() -> TestCollector {
    let collector = TestCollector::with(config);
    for (site, ttft_ms) in [("zulu", 100.0), ("shop", 200.0), ("blog", 400.0), ("zulu-too", 800.0)] {
        send(&collector, site, ttft_ms).await;
    }
    let foreign = beacon_request("zulu-key").header("origin", "https://zulu.example");
    collector.send(foreign.body(Body::empty()).unwrap()).await.refused(403, "foreign_origin");
    let asked = std::time::Instant::now();
    loop {
        let summary = json_of(&collector, "/v1/summary", UNLIMITED).await;
        if summary["streams"] == 40 && summary["open"] == 4 {
            return collector;
        }
        assert!(asked.elapsed() < TIMEOUT, "{summary}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

fn request(path: &str, token: &str) -> axum::http::request::Builder {
    Request::get(path).header("host", "rum.example").header("authorization", format!("Bearer {token}"))
}

async fn ask(collector: &TestCollector, path: &str, token: &str) -> Answer {
    collector.send(request(path, token).body(Body::empty()).unwrap()).await
}

async fn json_of(collector: &TestCollector, path: &str, token: &str) -> Value {
    let answer = ask(collector, path, token).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    if answer.headers["content-type"] != "application/json" {
        return Value::String(answer.body);
    }
    serde_json::from_str(&answer.body).unwrap()
}

/// All query routes as the collector describes them, with the names and values of their parameters.
struct Route {
    path: String,
    parameters: Vec<(String, Vec<String>)>,
}

impl Route {
    async fn all(collector: &TestCollector) -> Vec<Self> {
        let described = collector.json("/openapi.json").await;
        let paths = described["paths"].as_object().unwrap().iter();
        let guarded = paths.filter(|(_, methods)| methods["get"]["security"].is_array());
        let routes: Vec<_> = guarded.map(|(path, methods)| Self::of(path, &methods["get"])).collect();
        assert!(routes.len() >= 13, "{}", routes.len());
        routes
    }

    fn of(path: &str, get: &Value) -> Self {
        let parameters = get["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.filter(|parameter| parameter["in"] == "query").map(|parameter| {
            let values = parameter["schema"]["enum"].as_array().into_iter().flatten();
            let name = parameter["name"].as_str().unwrap().to_owned();
            (name, values.map(|value| value.as_str().unwrap().to_owned()).collect())
        });
        Self { path: path.to_owned(), parameters: parameters.collect() }
    }

    fn takes(&self, name: &str) -> bool {
        self.parameters.iter().any(|(known, _)| known == name)
    }

    /// Addresses with each value of each parameter. `id` is that of a stream.
    fn addresses(&self, id: u128) -> Vec<String> {
        let path = self.path.replace("{id}", &format!("{id:032x}"));
        let each =
            self.parameters.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
        let each = each.map(|(name, value)| format!("{path}?{name}={value}"));
        [path.clone()].into_iter().chain(each).collect()
    }
}

#[tokio::test]
async fn no_route_shows_anything_of_another_site() {
    let collector = collector().await;
    let mut seen_without_limit = 0;
    for route in Route::all(&collector).await {
        for path in route.addresses(100_000) {
            let limited = ask(&collector, &path, LIMITED).await;
            // The refusal of a stream that the reader may not see does not differ from that of an unknown one.
            let is_told_nothing =
                limited.body.contains("unknown_stream") || limited.body.contains("site_forbidden");
            assert!(limited.status == 200 || is_told_nothing, "{path} {}", limited.body);
            assert!(!limited.body.contains(SIGN), "{path} {}", limited.body);
            let unlimited = ask(&collector, &path, UNLIMITED).await;
            assert_eq!(unlimited.status, 200, "{path} {}", unlimited.body);
            seen_without_limit += u32::from(unlimited.body.contains(SIGN));
        }
    }
    assert!(seen_without_limit >= 20, "{seen_without_limit} answers name the other sites");
}

#[tokio::test]
async fn no_route_takes_another_site_as_a_filter() {
    let collector = collector().await;
    for route in Route::all(&collector).await.iter().filter(|route| route.takes("site")) {
        for site in ["zulu", "unheard-of", "", "shop&site=zulu"] {
            let path = format!("{}?site={site}", route.path);
            let message = ask(&collector, &path, LIMITED).await.refused(403, "site_forbidden");
            assert!(message.contains("`blog`, `shop`"), "{message}");
        }
        for own in ["shop", "blog&site=shop", "!blog"] {
            let own = ask(&collector, &format!("{}?site={own}", route.path), LIMITED).await;
            assert_eq!(own.status, 200, "{} {}", route.path, own.body);
            assert!(!own.body.contains(SIGN), "{} {}", route.path, own.body);
        }
    }
}

#[tokio::test]
async fn a_limited_token_reads_the_figures_of_its_sites() {
    let collector = collector().await;
    let now = json_of(&collector, "/v1/summary", UNLIMITED).await;
    let range = format!("from={}&to={}", now["from"], now["to"]);
    let of_shop = format!("shop-{LIMITED}");
    let mut compared = 0;
    for route in
        Route::all(&collector).await.iter().filter(|route| route.takes("site") && route.takes("from"))
    {
        let path = |filter: &str| format!("{}?{range}{filter}", route.path);
        let mut asked_for = json_of(&collector, &path("&site=shop"), UNLIMITED).await;
        let mut limited = json_of(&collector, &path(""), &of_shop).await;
        // The only figures that change while the range has not ended.
        for answer in [&mut asked_for, &mut limited].into_iter().filter(|answer| answer.is_object()) {
            answer["goodput"]["per_second"].take();
            answer["throughput"].take();
            for point in answer["points"].as_array_mut().into_iter().flatten() {
                for field in ["requests", "input_tokens", "output_tokens"] {
                    point[format!("{field}_per_second")].take();
                }
                // Two streams are open: their time in flight grows.
                point["in_flight"].take();
            }
        }
        assert_eq!(limited, asked_for, "{}", route.path);
        compared += 1;
    }
    assert!(compared >= 9, "{compared}");
    let both = json_of(&collector, "/v1/breakdown?by=site", LIMITED).await;
    let groups = both["groups"].as_array().unwrap().iter();
    let mut sites: Vec<_> =
        groups.map(|group| (group["value"].as_str().unwrap(), &group["streams"])).collect();
    sites.sort_unstable_by_key(|(site, _)| *site);
    assert_eq!(sites, [("blog", &json!(10)), ("shop", &json!(10))]);
    let summary = json_of(&collector, "/v1/summary", LIMITED).await;
    assert_eq!((&summary["streams"], &summary["open"]), (&json!(20), &json!(2)));
    let own = ask(&collector, &format!("/v1/streams/{:032x}", 200_000), LIMITED).await;
    assert_eq!(own.status, 200, "{}", own.body);
}

#[tokio::test]
async fn accounting_and_refusals_need_a_token_for_all_sites() {
    let collector = collector().await;
    for path in ["/v1/accounting", "/v1/refusals"] {
        let message = ask(&collector, path, LIMITED).await.refused(403, "site_forbidden");
        assert!(message.contains("all sites"), "{message}");
        assert!(json_of(&collector, path, UNLIMITED).await.is_object());
    }
}

#[tokio::test]
async fn alerts_of_other_sites_are_not_shown() {
    let collector = collector().await;
    let sites = async |token: &str| {
        let alerts = json_of(&collector, "/v1/alerts", token).await;
        let alerts = alerts["alerts"].as_array().unwrap().iter();
        alerts.map(|alert| alert["site"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    // The first answer fills the cache that both readers share.
    assert_eq!(sites(UNLIMITED).await, ["blog", "shop", "zulu", "zulu-too"].map(str::to_owned).into());
    assert_eq!(sites(LIMITED).await, ["blog", "shop"].map(str::to_owned).into());
    let slo = json_of(&collector, "/v1/slo", LIMITED).await;
    assert!(["blog", "shop"].contains(&slo["site"].as_str().unwrap()), "{slo}");
}

#[tokio::test]
async fn live_events_show_the_sites_of_each_listener() {
    let collector = collector().await;
    let first = async |token: &str| {
        let asked = request("/v1/live", token).header("accept", "text/event-stream").body(Body::empty());
        let mut events = collector.open(asked.unwrap()).await.into_body().into_data_stream();
        let event = tokio::time::timeout(TIMEOUT, events.next()).await.unwrap().unwrap().unwrap();
        // Kept open, so that the second listener could join the first one's feed.
        (String::from_utf8(event.to_vec()).unwrap(), events)
    };
    let (unlimited, _open) = first(UNLIMITED).await;
    let (limited, _open) = first(LIMITED).await;
    assert!(unlimited.contains(SIGN) && unlimited.contains("\"open\":4"), "{unlimited}");
    assert!(!limited.contains(SIGN) && limited.contains("\"open\":2"), "{limited}");
}

//! What `deploy/` holds fits the collector of the same version.

use std::fs;
use std::path::{Path, PathBuf};

use beacon::{Dropped, StreamReport};
use collector::{ClickHouse, Config, Draft};

use crate::harness::{TestCollector, stream};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(name)
}

#[test]
fn the_example_configuration_is_good_but_for_its_token() {
    let example = fs::read_to_string(file("llm-rum.toml")).unwrap();
    let said = Draft::parse(&example, std::iter::empty()).finish().unwrap_err().to_string();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains("`tokens[0].token` is the public value of the example"),
        "nobody runs with a known token: {said}"
    );
    let own = example.replace("change-me-before-the-first-start", "0123456789abcdef");
    let config = Draft::parse(&own, std::iter::empty()).finish().unwrap();
    assert!(config.listen.ip().is_loopback(), "a proxy stands before it");
}

#[test]
fn the_rules_are_those_of_the_default_targets() {
    let rules = collector::rules(&Config::default()).text;
    assert_eq!(fs::read_to_string(file("slo.yml")).unwrap(), rules, "`llm-rum rules > deploy/slo.yml`");
}

#[test]
fn the_configuration_of_a_cluster_is_good() {
    let token = ("LLM_RUM__TOKENS".to_owned(), "[{ name = 'a', token = '0123456789abcdef' }]".to_owned());
    let password = ("LLM_RUM__STORE__CLICKHOUSE__PASSWORD".to_owned(), "secret".to_owned());
    let draft = Draft::read(Some(&file("cluster/llm-rum.toml")), [token, password].into_iter()).unwrap();
    let clickhouse = draft.finish().unwrap().store.clickhouse.unwrap();
    assert_eq!(clickhouse.password, Some("secret".into()));
}

/// Its ClickHouse is not there.
fn member_of_a_cluster() -> TestCollector {
    TestCollector::with(|config| {
        config.store.clickhouse = Some(ClickHouse {
            url: "http://127.0.0.1:9".into(),
            database: "llm_rum".into(),
            user: "default".into(),
            password: None,
            publish_seconds: 1,
            timeout_seconds: 1,
        });
    })
}

#[tokio::test]
async fn alerts_query_only_existing_metrics() {
    let collector = TestCollector::with(|config| config.limits.models = 1);
    // One of everything that may go wrong: a metric without a series is not there.
    let dropped = Some(Dropped { send_failed: 1, ..Dropped::default() });
    let other = StreamReport { model: Some("another".into()), dropped, ..stream(2, 100.0) };
    collector.report(&[stream(1, 100.0), other]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    let mut metrics = collector.get("/metrics").await.body;
    metrics += &member_of_a_cluster().get("/metrics").await.body;
    let rules = ["alerts.yml", "slo.yml"].map(|name| fs::read_to_string(file(name)).unwrap()).join("\n");
    let expressions = rules.lines().filter(|line| !line.contains("summary:"));
    let words = expressions.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let asked: Vec<_> = words.filter(|word| word.starts_with("llm_r")).collect();
    assert!(asked.len() > 6, "{asked:?}");
    for name in asked {
        let name = name.trim_end_matches("_bucket").trim_end_matches("_count");
        assert!(metrics.contains(&format!("# TYPE {name} ")), "{name}");
    }
}

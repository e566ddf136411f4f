//! What was sent is what is answered.

use beacon::{Outcome, StreamReport};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TestCollector, close_to, joined, stream};
use crate::import::{import, line, now_ms};

#[tokio::test]
async fn a_summary_matches_its_streams() {
    let collector = TestCollector::new();
    let mut reports: Vec<_> = (0..97).map(|n| stream(n, 800.0)).collect();
    reports.push(StreamReport { outcome: Outcome::Truncated, ..stream(97, 800.0) });
    reports.push(StreamReport { outcome: Outcome::Aborted, ..stream(98, 9_000.0) });
    reports.push(stream(99, 2_500.0));
    collector.report(&reports).await;
    let summary = collector.until("/v1/summary", |summary| summary["streams"] == 100).await;
    assert_eq!(summary["outcomes"], json!({ "complete": 98, "truncated": 1, "aborted": 1 }));
    assert!(close_to(&summary["ttfv"]["p50_ms"], 800.0));
    assert!(close_to(&summary["ttfv"]["p99_ms"], 2_500.0));
    assert_eq!(summary["ttfv"]["n"], 100);
    assert_eq!(summary["integrity"], json!({ "good": 98, "total": 99, "ratio": 98.0 / 99.0 }));
    let errors = &summary["errors"];
    assert_eq!(
        (&errors["count"], &errors["total"], &errors["ratio"]),
        (&json!(1), &json!(99), &json!(1.0 / 99.0))
    );
    assert!(close_to(&errors["ratio_ci_lower"], 0.000_518), "{errors}");
    assert_eq!(summary["goodput"]["good"], 97, "the cut one and the slow one are not good");
    assert_eq!(summary["output_tokens"], 1_100);
    assert_eq!(summary["targets"]["ttft_p95_ms"], 2_000.0);
    assert_eq!(summary["previous"]["streams"], 0);
    assert_eq!(summary["previous"]["ttfv"]["p50_ms"], Value::Null);
    assert_eq!(summary["verdict"]["level"], "warn", "one of 99 may be chance");
}

#[tokio::test]
async fn each_use_case_is_measured_by_its_own_targets() {
    let collector = TestCollector::new();
    let coding = |n| StreamReport { use_case: Some("coding".into()), ..stream(n, 100.0) };
    let mut reports: Vec<_> = (0..400).map(|n| stream(n, 100.0)).chain((400..439).map(coding)).collect();
    reports.push(StreamReport { outcome: Outcome::Truncated, ..coding(439) });
    for batch in reports.chunks(100) {
        collector.report(batch).await;
    }
    // One of 440 is less than chat allows, and one of 40 more than coding does.
    let summary = collector.until("/v1/summary", |summary| summary["streams"] == 440).await;
    let told = "coding: 1 of 40 streams failed (2.5 %), above the 0.1 % that coding allows; time to first visible \
                token is";
    assert!(summary["verdict"]["text"].as_str().unwrap().starts_with(told), "{summary}");
    assert_eq!(summary["verdict"]["level"], "bad");
    assert_eq!(summary["use_cases"], 2);
    assert_eq!(summary["targets"]["use_case"], "chat", "the site's");
    let chat = collector.json("/v1/summary?use_case=chat").await;
    assert_eq!((&chat["verdict"]["level"], &chat["use_cases"]), (&json!("good"), &json!(1)));

    let rows = collector.json("/v1/breakdown?by=use_case").await["groups"].clone();
    let row = |at: usize| (&rows[at]["value"], &rows[at]["targets"]["ttft_p95_ms"]);
    assert_eq!([row(0), row(1)], [(&json!("chat"), &json!(2_000.0)), (&json!("coding"), &json!(5_000.0))]);
    assert_eq!(collector.json("/v1/breakdown?by=model").await["groups"][0]["targets"], Value::Null);

    let alone = TestCollector::new();
    alone.report(&[coding(1), StreamReport { outcome: Outcome::Truncated, ..coding(2) }]).await;
    let summary = alone.until("/v1/summary", |summary| summary["streams"] == 2).await;
    assert_eq!((&summary["targets"]["use_case"], &summary["use_cases"]), (&json!("coding"), &json!(1)));
    assert!(close_to(&summary["errors"]["ratio_ci_lower"], 0.025_32), "{summary}");
}

#[tokio::test]
async fn queries_return_the_targets_of_the_use_case_of_the_streams() {
    let collector = TestCollector::new();
    let coding = StreamReport { use_case: Some("coding".into()), ..stream(1, 100.0) };
    collector.report(&[coding]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 1).await;
    let check = async |filter: &str, use_case: &str, use_cases: u64| {
        for route in ["summary", "timeseries", "histogram", "heatmap", "breakdown", "integrity"] {
            let path = format!("/v1/{route}?{filter}");
            let answer = collector.json(&path).await;
            let told = (&answer["targets"]["use_case"], &answer["use_cases"]);
            assert_eq!(told, (&json!(use_case), &json!(use_cases)), "{path}");
        }
    };
    check("", "coding", 1).await;
    check("model=unheard-of", "chat", 0).await;
    check("use_case=batch_rag", "batch_rag", 0).await;

    collector.report(&[stream(2, 100.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    check("", "chat", 2).await;
    check("use_case=coding", "coding", 1).await;
}

#[tokio::test]
async fn an_empty_collector_answers_every_query() {
    let collector = TestCollector::new();
    let summary = collector.json("/v1/summary?range=24h").await;
    assert_eq!(summary["streams"], 0);
    assert_eq!(summary["verdict"], json!({ "level": "none", "text": "No streams in this period." }));
    for path in ["/v1/timeseries", "/v1/compare"] {
        let answer = collector.json(path).await;
        assert_eq!(answer["points"].as_array().unwrap().len(), 60, "{path}");
    }
    assert_eq!(collector.json("/v1/histogram").await["buckets"], json!([]));
    assert_eq!(collector.json("/v1/streams").await, json!({ "streams": [], "next": null }));
}

#[tokio::test]
async fn a_series_has_every_step_and_the_streams_in_the_last() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 800.0), stream(2, 800.0)]).await;
    let path = "/v1/timeseries?metric=ttft&range=6h&step=300";
    // A new step may have begun since the streams arrived.
    let in_newest = |answer: &Value| {
        answer["points"].as_array().unwrap().iter().rev().take(2).any(|point| point["n"] == 2)
    };
    let answer = collector.until(path, in_newest).await;
    let points = answer["points"].as_array().unwrap();
    assert!((72..=73).contains(&points.len()));
    assert_eq!(answer["step_ms"], 300_000);
    let first = points[0]["timestamp_ms"].as_i64().unwrap();
    assert!(first % 300_000 == 0 && (0..300_000).contains(&(answer["from"].as_i64().unwrap() - first)));
    for (at, point) in points.iter().enumerate() {
        assert_eq!(point["timestamp_ms"].as_i64().unwrap(), first + at as i64 * 300_000);
    }
    assert_eq!(points[0]["p50_ms"], Value::Null, "absent is not zero");
}

#[tokio::test]
async fn client_and_server_are_compared_over_the_same_streams() {
    let collector = TestCollector::new();
    collector.report(&[joined(1, 900.0, 700.0), joined(2, 900.0, 700.0), stream(3, 50.0)]).await;
    let answer = collector.until("/v1/compare", |answer| answer["streams"] == 3).await;
    assert_eq!(answer["matched"], 2);
    assert_eq!(answer["sources"], json!({ "comment": 2 }));
    assert!(close_to(&answer["client"]["p50_ms"], 900.0));
    assert!(close_to(&answer["server"]["p50_ms"], 700.0));
    assert!(close_to(&answer["overhead"]["p50_ms"], 200.0));
}

#[tokio::test]
async fn a_histogram_counts_every_value_once() {
    let collector = TestCollector::new();
    let reports: Vec<_> = (1..=100).map(|n| stream(n, n as f64 * 10.0)).collect();
    collector.report(&reports).await;
    let answer = collector.until("/v1/histogram?metric=ttfv", |answer| answer["n"] == 100).await;
    let buckets = answer["buckets"].as_array().unwrap();
    assert_eq!(buckets.iter().map(|bucket| bucket["count"].as_u64().unwrap()).sum::<u64>(), 100);
    for bucket in buckets {
        let (lower, upper) = (bucket["lower_ms"].as_f64().unwrap(), bucket["upper_ms"].as_f64().unwrap());
        assert!((upper / lower - 2f64.powf(0.25)).abs() < 1e-9, "four per doubling");
    }
}

#[tokio::test]
async fn the_first_paint_is_a_metric_of_those_that_saw_it() {
    let collector = TestCollector::new();
    let painted = StreamReport { ttfp_ms: Some(830.0), e2e_ms: Some(900.0), ..stream(1, 800.0) };
    collector.report(&[painted, stream(2, 800.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    let answer = collector.json("/v1/histogram?metric=ttfp").await;
    assert_eq!(answer["n"], 1, "absent is not zero");
    assert!(close_to(&answer["p50_ms"], 830.0), "{answer}");
}

#[tokio::test]
async fn generation_lasts_from_the_first_to_the_last_token() {
    let collector = TestCollector::new();
    let without_text = StreamReport { ttft_ms: None, ttfv_ms: None, e2e_ms: None, ..stream(2, 800.0) };
    collector.report(&[stream(1, 800.0), without_text]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    let answer = collector.json("/v1/histogram?metric=generation").await;
    assert_eq!(answer["n"], 1, "absent is not zero");
    assert!(close_to(&answer["p50_ms"], 400.0), "{answer}");
    let metrics = collector.get("/metrics").await.body;
    assert!(
        metrics.lines().any(|line| {
            line.starts_with("llm_rum_token_generation_seconds_sum{") && line.ends_with(" 0.4")
        })
    );
}

#[tokio::test]
async fn filters_choose_and_an_unknown_value_chooses_nothing() {
    let collector = TestCollector::new();
    let other =
        StreamReport { model: Some("claude".into()), use_case: Some("coding".into()), ..stream(2, 1.0) };
    collector.report(&[stream(1, 800.0), other]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    for (filter, streams) in [
        ("model=claude", 1),
        ("model=gpt-5&provider=openai&site=demo&use_case=chat", 1),
        ("model=claude&use_case=chat", 0),
        ("site=nobody", 0),
    ] {
        assert_eq!(collector.json(&format!("/v1/summary?{filter}")).await["streams"], streams, "{filter}");
        let listed = collector.json(&format!("/v1/streams?{filter}")).await;
        assert_eq!(listed["streams"].as_array().unwrap().len(), streams, "{filter}");
    }
    let coding = collector.json("/v1/summary?use_case=coding").await;
    assert_eq!(coding["targets"]["ttft_p95_ms"], 5_000.0);
}

#[tokio::test]
async fn streams_come_newest_first_page_by_page_as_they_were_sent() {
    let collector = TestCollector::new();
    for id in 0..5 {
        collector.report(&[stream(id, 100.0)]).await;
    }
    collector.until("/v1/summary", |summary| summary["streams"] == 5).await;
    let mut path = "/v1/streams?limit=2".to_owned();
    let mut ids = Vec::new();
    loop {
        let page = collector.json(&path).await;
        ids.extend(page["streams"].as_array().unwrap().iter().map(|stream| stream["id"].clone()));
        let Some(next) = page["next"].as_str() else { break };
        assert!(ids.len() < 5, "there are no more: {next}");
        path = format!("/v1/streams?limit=2&cursor={next}");
    }
    let expected: Vec<_> = (0..5).rev().map(|id| format!("{id:032x}")).collect();
    assert_eq!(json!(ids), json!(expected));

    let one = collector.json(&format!("/v1/streams/{:032X}", 3)).await;
    let mut sent = serde_json::to_value(stream(3, 100.0)).unwrap();
    sent["site"] = json!("demo");
    sent["use_case"] = json!("chat");
    sent["received_ms"] = one["received_ms"].clone();
    sent["country"] = json!("unknown");
    sent["phases"] = json!([{ "phase": "not_reported", "ms": 100.0 }, { "phase": "reasoning", "ms": 0.0 }]);
    assert!(one["received_ms"].as_i64().unwrap() > 1_600_000_000_000);
    assert_eq!(one, sent);
    for id in ["nonsense", &format!("{:032x}", 77)] {
        collector.get(&format!("/v1/streams/{id}")).await.refused(404, "unknown_stream");
    }
    collector.get("/v1/streams/%ff").await.refused(400, "bad_query");
}

#[tokio::test]
async fn streams_can_be_listed_by_outcome() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 1.0), StreamReport { outcome: Outcome::Truncated, ..stream(2, 1.0) }]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    let listed = collector.json("/v1/streams?outcome=truncated&range=15m").await;
    assert_eq!(listed["streams"].as_array().unwrap().len(), 1);
    assert_eq!(listed["streams"][0]["outcome"], "truncated");
}

/// Two models: of the first's four streams one is cut, of the second's two both are slow.
async fn two_models() -> TestCollector {
    let collector = TestCollector::new();
    let slow = |id| StreamReport { model: Some("slow-model".into()), ..stream(id, 3_000.0) };
    let cut = StreamReport { outcome: Outcome::Truncated, ..stream(4, 800.0) };
    let reports = [stream(1, 800.0), stream(2, 800.0), stream(3, 800.0), cut, slow(5), slow(6)];
    collector.report(&reports).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 6).await;
    collector
}

#[tokio::test]
async fn a_filter_takes_several_values_or_all_but_some() {
    let collector = two_models().await;
    for (filter, streams) in [
        ("model=slow-model", 2),
        ("model=slow-model&model=gpt-5", 6),
        ("model=slow-model&model=never-heard-of", 2),
        ("model=!slow-model", 4),
        ("model=!slow-model&model=!gpt-5", 0),
        ("model=!never-heard-of&country=unknown", 6),
        ("country=!unknown", 0),
    ] {
        assert_eq!(collector.json(&format!("/v1/summary?{filter}")).await["streams"], streams, "{filter}");
        let listed = collector.json(&format!("/v1/streams?{filter}")).await;
        assert_eq!(listed["streams"].as_array().unwrap().len(), streams, "{filter}");
    }
    let many = "model=a&".repeat(51);
    let message = collector.get(&format!("/v1/summary?{many}")).await.refused(400, "bad_query");
    assert!(message.contains("at most 50 times"), "{message}");
}

/// The window from which a stream was retracted stays, and is empty.
#[tokio::test]
async fn a_value_whose_streams_were_all_retracted_is_no_group() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 100.0), stream(2, 100.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    let corrected = |id| StreamReport { rev: 1, model: Some("gpt-5-mini".into()), ..stream(id, 100.0) };
    collector.report(&[corrected(1), corrected(2)]).await;
    let breakdown = |answer: &Value| answer["groups"][0]["value"] == "gpt-5-mini";
    let answer = collector.until("/v1/breakdown?by=model", breakdown).await;
    assert_eq!(answer["groups"].as_array().map(Vec::len), Some(1), "{answer}");
    assert_eq!(answer["groups"][0]["streams"], 2);
}

#[tokio::test]
async fn a_breakdown_gives_the_excess_share_of_each_group() {
    let collector = two_models().await;
    let answer = collector.json("/v1/breakdown?by=model&compare_to=previous").await;
    let groups = answer["groups"].as_array().unwrap();
    assert_eq!((groups.len(), &answer["omitted"]), (2, &json!(0)));
    let [first, second] = [&groups[0], &groups[1]];
    assert_eq!((&first["value"], &first["streams"]), (&json!("gpt-5"), &json!(4)));
    assert_eq!(first["integrity"], json!({ "good": 3, "total": 4, "ratio": 0.75 }));
    assert!(close_to(&second["p95_ms"], 3_000.0));
    let excess = |group: &Value| group["excess_share"].as_f64().unwrap();
    assert!((excess(first) - (1.0 / 3.0 - 4.0 / 6.0)).abs() < 1e-9);
    assert!((excess(first) + excess(second)).abs() < 1e-9, "shares of one whole");
    let bound = second["excess_share_ci_lower"].as_f64().unwrap();
    assert!(bound < 0.0 && bound < excess(second), "two of three can be chance: {bound}");
    assert_eq!(
        second["earlier"],
        json!({ "streams": 0, "n": 0, "km_adjusted": { "abandoned": 0, "failed_before": 0 } })
    );

    for by in ["site", "use_case", "provider"] {
        let answer = collector.json(&format!("/v1/breakdown?by={by}&limit=1")).await;
        assert_eq!(answer["groups"][0]["streams"], 6, "{by}");
    }
    assert_eq!(collector.json("/v1/breakdown?limit=1").await["omitted"], 1);
}

#[tokio::test]
async fn streams_are_grouped_by_response_model_in_windows_only() {
    let collector = TestCollector::with(|config| config.limits.models = 2);
    let named = |id, name: &str| StreamReport {
        response_model: Some(format!("gpt-5-{name}").into()),
        ..stream(id, 800.0)
    };
    let reports = [stream(1, 800.0), named(2, "may"), named(3, "june"), named(4, "june"), named(5, "july")];
    collector.report(&reports).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 5).await;
    let answer = collector.json("/v1/breakdown?by=response_model").await;
    let groups = answer["groups"].as_array().unwrap();
    let mut groups: Vec<_> = groups.iter().map(|group| (&group["value"], &group["streams"])).collect();
    groups.sort_by_key(|(value, _)| value.as_str());
    let expected = [("gpt-5-june", 2), ("gpt-5-may", 1), ("other", 1), ("unknown", 1)];
    assert_eq!(json!(groups), json!(expected));
    let june = "response_model=gpt-5-june";
    assert_eq!(collector.json(&format!("/v1/summary?{june}&model=gpt-5")).await["streams"], 2);
    let listed = collector.json(&format!("/v1/streams?{june}")).await;
    assert_eq!(listed["streams"].as_array().map(Vec::len), Some(2));
    assert_eq!(collector.json("/v1/summary").await["overflow"], json!({ "response_model": 1 }));
    let metrics = collector.get("/metrics").await.body;
    let requests = metrics.lines().filter(|line| line.starts_with("llm_requests_total{"));
    let requests: Vec<_> = requests.filter(|line| !line.ends_with(" 0")).collect();
    assert!(requests.len() == 1 && requests[0].ends_with(" 5"), "one series: {requests:?}");
    assert!(!metrics.contains("gpt-5-june"), "Prometheus has no response models");
}

#[tokio::test]
async fn a_heatmap_counts_each_value_once_in_the_histogram_buckets() {
    let collector = two_models().await;
    let heatmap = collector.json("/v1/heatmap?range=15m&step=60").await;
    let spread = collector.json("/v1/histogram?range=15m").await;
    assert_eq!(heatmap["buckets"], spread["buckets"]);
    let points = heatmap["points"].as_array().unwrap();
    let counted: u64 = points.iter().map(|point| point["n"].as_u64().unwrap()).sum();
    assert_eq!((points.len(), counted), (15, 6));
    let width = heatmap["buckets"].as_array().unwrap().len();
    assert!(points.iter().all(|point| point["counts"].as_array().unwrap().len() == width));
}

#[tokio::test]
async fn a_table_is_the_same_as_the_json_and_no_formula() {
    let collector = two_models().await;
    let answer = collector.get("/v1/breakdown?format=csv").await;
    assert_eq!(answer.headers["content-type"], "text/csv; charset=utf-8");
    let lines: Vec<_> = answer.body.split_terminator("\r\n").collect();
    let adjusted =
        "km_adjusted_p50_ms,km_adjusted_p90_ms,km_adjusted_p95_ms,km_adjusted_p99_ms,abandoned,failed_before";
    let columns = "model,streams,share,n,p50_ms,p90_ms,p95_ms,p99_ms,integrity,goodput,errors,excess_share";
    assert_eq!(lines[0], format!("{columns},{adjusted}"));
    assert!(lines[1].starts_with("\"gpt-5\",4,0.666"), "{}", lines[1]);
    assert!(lines[2].starts_with("\"slow-model\",2,"), "{}", lines[2]);
    let formula = StreamReport { provider: Some("=slow,\"provider\"".into()), ..stream(7, 100.0) };
    collector.report(&[formula]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 7).await;
    let by_provider = collector.get("/v1/breakdown?by=provider&format=csv").await.body;
    assert!(by_provider.contains("\r\n\"'=slow,\"\"provider\"\"\",1,"), "{by_provider}");
    let rates = "requests_per_second,input_tokens_per_second,output_tokens_per_second,with_usage,in_flight";
    let over_time = format!("timestamp_ms,n,p50_ms,p90_ms,p95_ms,p99_ms,streams,errors,{adjusted},{rates}");
    let both_sides = ["p50", "p90", "p95", "p99"]
        .map(|q| ["client", "server", "overhead"].map(|side| format!("{side}_{q}_ms")).join(","));
    for (path, columns) in [
        ("timeseries", &*over_time),
        ("timeseries?metric=inter_chunk_latency", &*over_time),
        ("abandonment", "wait_ms,at_risk,share,lower,upper"),
        ("histogram", "lower_ms,upper_ms,count"),
        ("heatmap", "timestamp_ms,lower_ms,upper_ms,count"),
        ("compare", &*format!("timestamp_ms,n,{}", both_sides.join(","))),
    ] {
        let with = if path.contains('?') { '&' } else { '?' };
        let body = collector.get(&format!("/v1/{path}{with}format=csv")).await.body;
        let width = columns.split(',').count();
        assert!(body.starts_with(&format!("{columns}\r\n")), "{body}");
        assert!(body.split_terminator("\r\n").all(|line| line.split(',').count() == width), "{body}");
        assert!(body.lines().count() > 1, "{path} has rows");
    }
}

#[tokio::test]
async fn few_streams_come_with_an_interval_and_many_without() {
    let collector = TestCollector::new();
    let reports: Vec<_> = (1..=60).map(|n| stream(n, n as f64 * 10.0)).collect();
    collector.report(&reports).await;
    let answer = collector.until("/v1/histogram", |answer| answer["n"] == 60).await;
    // Ranks 22 and 39 of 60.
    assert!(close_to(&answer["intervals"]["p50"]["lower_ms"], 220.0), "{answer}");
    assert!(close_to(&answer["intervals"]["p50"]["upper_ms"], 390.0), "{answer}");
    assert_eq!(answer["intervals"]["p99"]["upper_ms"], Value::Null, "60 values do not bound a p99");
    for batch in 0..5 {
        let more: Vec<_> = (0..100).map(|n| stream(1_000 + batch * 100 + n, 100.0)).collect();
        collector.report(&more).await;
    }
    let answer = collector.until("/v1/histogram", |answer| answer["n"] == 560).await;
    assert_eq!(answer["intervals"], Value::Null);
}

#[tokio::test]
async fn a_period_is_compared_with_the_same_hours_of_the_day_before() {
    let collector = two_models().await;
    let summary = collector.json("/v1/summary?compare_to=day").await;
    let day = 86_400_000;
    let at = |name: &str| summary[name].as_i64().unwrap();
    assert_eq!(summary["previous"]["from"], at("from") - day);
    assert_eq!(summary["previous"]["to"], at("to") - day);
    let series = collector.json("/v1/timeseries?compare_to=day&range=15m").await;
    assert_eq!(series["earlier"].as_array().unwrap().len(), series["points"].as_array().unwrap().len());
    assert_eq!(
        series["earlier"][0]["timestamp_ms"],
        series["points"][0]["timestamp_ms"].as_i64().unwrap() - day
    );
    assert_eq!(collector.json("/v1/histogram?compare_to=week").await["earlier"]["n"], 0);
}

#[tokio::test]
async fn browser_and_server_are_compared_with_a_day_earlier() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    // In the middle of a step, ten minutes ago.
    let at_ms = (now_ms() - 600_000) / 60_000 * 60_000 + 30_000;
    let day_ms = 86_400_000;
    let lines = [
        line(&joined(1, 900.0, 700.0), at_ms, "CH"),
        line(&joined(2, 500.0, 400.0), at_ms - day_ms, "CH"),
        line(&stream(3, 50.0), at_ms - day_ms, "CH"),
    ];
    assert!(import(&data, &lines).status.success());
    let collector = TestCollector::with(|config| config.data.clone_from(&data));
    let question = "/v1/compare?range=15m&step=60&compare_to=day";
    let answer = collector.json(question).await;
    let at = |answer: &Value, of: &str, ms: i64| {
        let points = answer[of].as_array().unwrap();
        let start = |point: &&Value| point["timestamp_ms"].as_i64().is_some_and(|start| start == ms - 30_000);
        points.iter().find(start).cloned().unwrap_or_default()
    };
    let (now, before) = (at(&answer, "points", at_ms), at(&answer, "earlier", at_ms - day_ms));
    assert_eq!((&now["n"], &before["n"]), (&json!(1), &json!(1)), "{answer}");
    assert!(close_to(&now["server_p50_ms"], 700.0) && close_to(&before["server_p50_ms"], 400.0));
    assert!(close_to(&before["overhead_p95_ms"], 100.0), "{before}");
    let starts = |of: &str| -> Vec<_> {
        let points = answer[of].as_array().unwrap().iter();
        points.map(|point| point["timestamp_ms"].as_i64().unwrap()).collect()
    };
    let moved: Vec<_> = starts("points").iter().map(|start| start - day_ms).collect();
    assert_eq!(starts("earlier"), moved, "a point for each of the range");
    let newest = collector.json(&format!("{question}&since={}", at_ms - 30_000)).await;
    let count = |of: &str| newest[of].as_array().unwrap().len();
    assert_eq!((count("points"), newest["matched"].as_u64()), (count("earlier"), Some(1)));
    assert!(count("points") < starts("points").len());
    assert_eq!(at(&newest, "earlier", at_ms - day_ms), before);
    assert_eq!(collector.json("/v1/compare").await["earlier"], Value::Null);
}

#[tokio::test]
async fn every_query_route_is_described_with_what_it_refuses() {
    let collector = TestCollector::new();
    let document = collector.json("/openapi.json").await;
    let asked =
        document["paths"].as_object().unwrap().iter().filter(|(_, methods)| methods["get"].is_object());
    for (path, methods) in asked {
        let answer = collector.get(&path.replace("{id}", "x")).await;
        let documented = &methods["get"]["responses"][answer.status.as_str()];
        assert!(documented.is_object(), "{path} answered {}", answer.status);
        for parameter in methods["get"]["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "query" && parameter["schema"] != json!({ "type": "string" }) {
                let wrong = format!("{path}?{}=%21", parameter["name"].as_str().unwrap());
                collector.get(&wrong).await.refused(400, "bad_query");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_query_makes_the_collector_fail(
        route in prop::sample::select(vec![
            "summary", "timeseries", "histogram", "heatmap", "breakdown", "compare", "abandonment",
            "integrity", "streams",
        ]),
        query in "((range|from|to|step|metric|limit|cursor|outcome|sample|site|by|compare_to|format)=[0-9a-zA-Z%+-]{0,21}&?){0,4}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        thread_local! { static COLLECTOR: TestCollector = TestCollector::new(); }
        let path = format!("/v1/{route}?{query}");
        let status = COLLECTOR.with(|collector| runtime.block_on(collector.get(&path))).status;
        prop_assert!(status == 200 || status == 400, "{path}: {status}");
    }
}

#[tokio::test]
async fn an_invalid_query_is_refused() {
    let collector = TestCollector::new();
    for path in [
        "/v1/summary?range=2h",
        "/v1/summary?rnage=1h",
        "/v1/summary?range=1h&range=1h",
        "/v1/summary?from=5",
        "/v1/summary?from=10&to=5",
        "/v1/summary?from=-9223372036854775808&to=9223372036854775807",
        "/v1/summary?metric=ttft",
        "/v1/timeseries?metric=ttfx",
        "/v1/abandonment?metric=e2e",
        "/v1/abandonment?step=60",
        "/v1/timeseries?step=61",
        "/v1/timeseries?step=0",
        "/v1/timeseries?step=9223372036854775807",
        "/v1/timeseries?range=30d&step=60",
        "/v1/streams?limit=0",
        "/v1/streams?limit=1000000",
        "/v1/streams?cursor=x",
        "/v1/streams?cursor=-1",
        "/v1/streams?sample=slowest&cursor=-1",
        "/v1/streams?outcome=fine",
        "/v1/summary?model=a&model=!b",
        "/v1/summary?model=!",
        "/v1/histogram?%ff=%zz",
        "/v1/histogram?format=xml",
        "/v1/breakdown?by=id",
        "/v1/breakdown?limit=501",
        "/v1/heatmap?compare_to=day",
        "/v1/summary?compare_to=year",
        "/v1/summary?format=csv",
    ] {
        collector.get(path).await.refused(400, "bad_query");
    }
}

#[tokio::test]
async fn dropped_minutes_still_require_hourly_steps_after_a_restart() {
    let mut collector = TestCollector::new();
    assert_eq!(collector.json("/v1/timeseries?range=6h&step=60").await["step_ms"], 60_000);
    collector.close();
    // What stands there once minutes have gone: fewer of them were kept.
    let store = rusqlite::Connection::open(collector.config.data.join("llm-rum.sqlite")).unwrap();
    let now = "CAST(strftime('%s') AS INTEGER) / 3600 * 60";
    let gone = format!(
        "INSERT INTO spans (length, start, changes, summed, frozen) VALUES (60, {now} - 180, 1, 1, 1)"
    );
    assert_eq!(store.execute(&gone, []).unwrap(), 1);
    collector.restart();
    let message = collector.get("/v1/timeseries?range=6h&step=60").await.refused(400, "bad_query");
    assert!(message.contains("a multiple of 3600 for times more than"), "{message}");
    let by_hours = collector.json("/v1/timeseries?range=6h").await;
    assert_eq!(by_hours["step_ms"], 3_600_000, "{by_hours}");
}

//! Engines whose metrics the collector reads.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::StatusCode;
use axum::response::Redirect;
use axum::routing::get;
use collector::{Config, Engine};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::harness::TestCollector;

const VLLM: &str = include_str!("../fixtures/engines/vllm.prom");

/// An engine that answers with a status and a text.
struct TestEngine {
    port: u16,
    answer: Arc<Mutex<(u16, String)>>,
}

impl TestEngine {
    async fn start(text: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = Arc::new(Mutex::new((200, text.to_owned())));
        let of_moment = answer.clone();
        let metrics = move || async move {
            let (status, text) = of_moment.lock().unwrap().clone();
            (StatusCode::from_u16(status).unwrap(), text)
        };
        let router = Router::new()
            .route("/metrics", get(metrics))
            .route("/moved", get(|| async { Redirect::temporary("/metrics") }));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { port, answer }
    }

    fn answers(&self, status: u16, text: &str) {
        *self.answer.lock().unwrap() = (status, text.to_owned());
    }

    fn config(&self, path: &str, more: &str) -> Engine {
        let port = self.port;
        toml(&format!("url = \"http://127.0.0.1:{port}/{path}\"\nevery_seconds = 1\n{more}"))
    }
}

fn toml(text: &str) -> Engine {
    toml::from_str(text).unwrap()
}

const ENGINES: &str = "/v1/engines?range=1h";

/// The newest point with a figure, and the model's name.
fn newest(answer: &Value, figure: &str) -> Option<(String, f64)> {
    let model = answer["models"].get(0)?;
    let points = model["points"].as_array().unwrap().iter().rev();
    Some((
        model["model"].as_str().unwrap().to_owned(),
        points.filter_map(|point| point[figure].as_f64()).next()?,
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_comes_back_continues_with_its_reset() {
    let engine = TestEngine::start(VLLM).await;
    let of_engine = engine.config("metrics", "models = { \"Qwen/Qwen3-32B\" = \"qwen3\" }");
    let mut collector = TestCollector::with(|config| config.engines = vec![of_engine]);
    // The figures are stored before the status changes.
    let is_scraped = |answer: &Value| answer["engines"][0]["scraped_ms"].is_number();
    let answer = collector.until(ENGINES, is_scraped).await;
    assert_eq!(newest(&answer, "waiting_max"), Some(("qwen3".to_owned(), 3.0)));
    assert_eq!(newest(&answer, "running_max"), Some(("qwen3".to_owned(), 21.0)));
    let points = answer["models"][0]["points"].as_array().unwrap();
    assert_eq!(points[0]["waiting_max"], Value::Null, "a minute before the first scrape is a gap");
    let status = &answer["engines"][0];
    assert_eq!((&status["kind"], &status["error"]), (&json!("vllm"), &Value::Null));
    let drafted = status["metrics"].as_array().unwrap().iter().find(|metric| metric["figure"] == "drafted");
    assert_eq!(
        drafted.unwrap(),
        &json!({ "figure": "drafted", "searched": ["vllm:spec_decode_num_draft_tokens_total"] })
    );

    engine.answers(503, "starting");
    let failed = collector.until(ENGINES, |answer| answer["engines"][0]["error"].is_string()).await;
    assert_eq!(failed["engines"][0]["error"], "the answer has the status 503 instead of 200");

    // The counter of 7 begins anew.
    engine.answers(200, &VLLM.replace("Qwen3-32B\"} 7.0", "Qwen3-32B\"} 2.0"));
    let increase = |answer: &Value| {
        let points = answer["models"][0]["points"].as_array().unwrap().iter();
        points.filter_map(|point| point["preemptions"].as_f64()).sum::<f64>()
    };
    let is_well = |answer: &Value| answer["engines"][0]["error"].is_null();
    let answer = collector.until(ENGINES, |answer| increase(answer) > 0.0 && is_well(answer)).await;
    assert_eq!(increase(&answer), 2.0);
    // The stop stores the counters.
    collector.restart();
    assert!(collector.metric("llm_rum_engine_scrapes_total{result=\"status\"} ").await >= 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_and_a_long_answer_are_refused() {
    let engine = TestEngine::start(&"a 1\n".repeat(600_000)).await;
    let engines = vec![engine.config("moved", ""), engine.config("metrics", "")];
    let collector = TestCollector::with(|config| config.engines = engines);
    let is_scraped = |answer: &Value| {
        let engines = answer["engines"].as_array().unwrap();
        engines.iter().all(|engine| engine["error"].is_string())
    };
    let answer = collector.until(ENGINES, is_scraped).await;
    let errors = answer["engines"].as_array().unwrap().iter().map(|engine| engine["error"].as_str().unwrap());
    let expected = ["the answer has the status 307 instead of 200", "the answer is longer than 2 MiB"];
    assert_eq!(errors.collect::<Vec<_>>(), expected);
    assert_eq!(answer["models"], json!([]));
}

#[test]
fn mistakes_of_engines_are_named() {
    let engine = |text: &str| toml(&format!("url = {text}"));
    let engines = vec![
        engine("\"http://user:secret@gpu-1:8000/metrics\""),
        engine("\"http://gpu-1:8000/metrics\"\nevery_seconds = 0"),
        engine("\"http://gpu-1:8000/metrics\"\nsite = \"blog\""),
    ];
    let config = Config { engines, ..Config::default() };
    let fields: Vec<_> = config.mistakes().into_iter().map(|mistake| mistake.field).collect();
    let expected = ["engines[0].url", "engines[1].every_seconds", "engines[2].site", "engines[2].url"];
    assert_eq!(fields, expected);
}

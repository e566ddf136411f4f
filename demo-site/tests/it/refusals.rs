//! What the server refuses, in the words of each API.

use serde_json::{Value, json};

use crate::harness::{APIS, Demo, path_of, question};

async fn refused(demo: &Demo, scenario: &str, api: &str, body: &Value) -> (u16, String) {
    let response = demo.post(scenario, api, body).await;
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    let message = if api == "ollama" { &body["error"] } else { &body["error"]["message"] };
    (status, message.as_str().expect("a message where the API has it").to_owned())
}

#[tokio::test]
async fn an_invalid_request_is_refused_with_a_reason() {
    let demo = Demo::start().await;
    let whole = json!({ "model": "m", "stream": false });
    for (api, _) in APIS {
        let (status, message) = refused(&demo, "normal", api, &whole).await;
        assert_eq!((status, message.contains("only streams")), (400, true), "{api}: {message}");
        let (status, message) = refused(&demo, "unheard_of", api, &question()).await;
        assert_eq!((status, message.contains("no scenario `unheard_of`")), (404, true), "{api}: {message}");
        let (status, _) = refused(&demo, "normal", api, &json!([1, 2])).await;
        assert_eq!(status, 400);
    }
    for (api, _) in &APIS[1..] {
        assert_eq!(refused(&demo, "recorded", api, &question()).await.0, 400);
    }
    assert_eq!(demo.get("/demo/log").await["entries"], json!([]));
}

#[tokio::test]
async fn ollama_streams_unless_stream_is_false() {
    let demo = Demo::start().await;
    let response = demo.post("empty", "ollama", &json!({ "model": "m" })).await;
    assert_eq!(response.status(), 200);
    assert_eq!(refused(&demo, "empty", "anthropic", &json!({ "model": "m" })).await.0, 400);
}

#[tokio::test]
async fn cors_allows_any_header_of_another_origin() {
    let demo = Demo::start().await;
    let url = format!("{}/llm/normal{}", demo.url, path_of("anthropic"));
    let preflight = demo
        .client
        .request(reqwest::Method::OPTIONS, url)
        .header("origin", "http://elsewhere.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,x-api-key")
        .send()
        .await
        .unwrap();
    assert_eq!(preflight.headers()["access-control-allow-origin"], "*");
    assert_eq!(preflight.headers()["access-control-allow-headers"], "authorization,x-api-key");
}

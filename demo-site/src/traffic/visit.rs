//! Reads one stream as a page would: a visit and the demo server come in, a report with real times goes out.

use std::borrow::Cow;
use std::future::pending;

use beacon::StreamReport;
use probe_core::{End, Meter, Timestamp};
use reqwest::{Client, Response, header};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::mix::Visit;

impl Visit {
    pub(super) async fn read(self, client: &Client, demo: &str) -> StreamReport {
        let began = Instant::now();
        let now = || Timestamp::from_ms(began.elapsed().as_secs_f64() * 1e3);
        let mut meter = Meter::new(self.id.as_str(), now());
        let url = format!("{demo}/llm/{}{}", self.scenario, self.model.api.path());
        let end = tokio::select! {
            end = read(&mut meter, client.post(url).json(&self.body()), now) => end,
            // Dropping the response closes its connection, as a page does.
            end = self.departure(began) => end,
        };
        meter.on_end(now(), end);
        StreamReport {
            use_case: Some(Cow::Borrowed(self.model.use_case)),
            model: Some(Cow::Borrowed(self.model.name)),
            provider: self.model.provider.map(Cow::Borrowed),
            page: Some(self.page),
            ..meter.report()
        }
    }

    async fn departure(&self, began: Instant) -> End {
        match self.leaves {
            Some((after, end)) => {
                sleep_until(began + after).await;
                end
            }
            None => pending().await,
        }
    }

    fn body(&self) -> serde_json::Value {
        let messages = json!([{ "role": "user", "content": "A made-up question of an ordinary length." }]);
        json!({ "model": self.model.name, "stream": true, "messages": messages })
    }
}

async fn read(meter: &mut Meter, request: reqwest::RequestBuilder, now: impl Fn() -> Timestamp) -> End {
    let Ok(mut response) = request.send().await else { return End::Failed };
    meter.on_headers(now(), response.status().as_u16(), content_type(&response));
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                meter.on_chunk(now(), &chunk);
            }
            Ok(None) => return End::Closed,
            Err(_) => return End::Failed,
        }
    }
}

fn content_type(response: &Response) -> &str {
    response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

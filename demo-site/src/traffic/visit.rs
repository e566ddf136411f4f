//! Reads one simulated stream as a page would, and reports its real times.

use std::borrow::Cow;
use std::future::pending;

use beacon::StreamReport;
use probe_core::{End, Meter, Timestamp};
use reqwest::{Client, RequestBuilder, Response, header};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use super::mix::{Departure, Visit};
use crate::site::SITE_HEADER;

impl Visit {
    /// Reads the stream as a page of `site` would.
    pub(super) async fn read(self, client: &Client, demo: &str, site: &str) -> StreamReport {
        let began = Instant::now();
        let now = || Timestamp::from_ms(began.elapsed().as_secs_f64() * 1e3);
        let mut meter = Meter::new(self.id.as_str(), now());
        sleep(self.round_trip).await;
        let url = format!("{demo}/llm/{}{}", self.scenario, self.model.api.path());
        // A relay adds its own times for browsers only.
        let request = client.post(url).header("sec-fetch-site", "same-origin").header(SITE_HEADER, site);
        let request = request.json(&self.body());
        // Dropping the response closes its connection, as a page would.
        let shown = tokio::select! {
            shown = wait(&mut meter, request, now) => shown,
            end = departure(began, Some(self.patience)) => Err(end),
            end = departure(began, self.leaves) => Err(end),
        };
        let end = match shown {
            Ok(response) => tokio::select! {
                end = read(&mut meter, response, now) => end,
                end = departure(began, self.leaves) => end,
            },
            Err(end) => end,
        };
        meter.on_end(now(), end);
        self.report(&meter)
    }

    /// The report that a page would send of the stream, with what the app knows of it.
    pub(super) fn report(self, meter: &Meter) -> StreamReport {
        StreamReport {
            use_case: Some(Cow::Borrowed(self.model.use_case)),
            model: Some(Cow::Borrowed(self.model.name)),
            provider: self.model.provider.map(Cow::Borrowed),
            page: Some(self.page),
            ..meter.report()
        }
    }

    fn body(&self) -> serde_json::Value {
        let messages = json!([{ "role": "user", "content": "A made-up question of an ordinary length." }]);
        json!({ "model": self.model.name, "stream": true, "messages": messages })
    }
}

/// Waits until the user leaves.
async fn departure(began: Instant, departure: Option<Departure>) -> End {
    match departure {
        Some(Departure { after, end }) => {
            sleep_until(began + after).await;
            end
        }
        None => pending().await,
    }
}

/// Reads until text is visible. An error if the stream ends before.
async fn wait(
    meter: &mut Meter,
    request: RequestBuilder,
    now: impl Fn() -> Timestamp,
) -> Result<Response, End> {
    let mut response = request.send().await.map_err(|_| End::Failed)?;
    meter.on_headers(now(), response.status().as_u16(), content_type(&response));
    while !meter.progress().first_visible {
        read_chunk(meter, &mut response, &now).await?;
    }
    Ok(response)
}

/// Reads until the stream ends.
async fn read(meter: &mut Meter, mut response: Response, now: impl Fn() -> Timestamp) -> End {
    loop {
        if let Err(end) = read_chunk(meter, &mut response, &now).await {
            return end;
        }
    }
}

async fn read_chunk(
    meter: &mut Meter,
    response: &mut Response,
    now: impl Fn() -> Timestamp,
) -> Result<(), End> {
    match response.chunk().await {
        Ok(Some(chunk)) => {
            meter.on_chunk(now(), &chunk);
            Ok(())
        }
        Ok(None) => Err(End::Closed),
        Err(_) => Err(End::Failed),
    }
}

fn content_type(response: &Response) -> &str {
    response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

//! Chromium's own record of its frames: a page's marks come in, when what stood in the page by then was on
//! the screen goes out.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::Browser;
use crate::devtools::DevTools;

/// A trace that Chromium is taking.
pub(crate) struct Tracing {
    devtools: DevTools,
}

/// One frame of a page with what its main thread had done by then.
struct Frame {
    process: u64,
    /// When the main thread began to make it.
    began_us: f64,
    presented_us: f64,
}

impl Tracing {
    /// Begins to record frames and marks.
    pub(crate) async fn start(browser: &Browser) -> Result<Self> {
        let mut devtools = DevTools::of_browser(browser).await?;
        let config = json!({ "includedCategories": CATEGORIES, "excludedCategories": ["*"] });
        devtools.send("Tracing.start", json!({ "traceConfig": config })).await?;
        while devtools.next().await?["id"].is_null() {}
        Ok(Self { devtools })
    }

    /// Ends the recording. For each mark of the page, by its name: when the first frame was presented that
    /// its main thread began after it, on the page's own clock.
    pub(crate) async fn presented(mut self) -> Result<HashMap<String, f64>> {
        self.devtools.send("Tracing.end", json!({})).await?;
        let mut events = Vec::new();
        loop {
            let mut message = self.devtools.next().await?;
            match message["method"].as_str() {
                Some("Tracing.dataCollected") => {
                    let collected: Vec<Value> = serde_json::from_value(message["params"]["value"].take())?;
                    events.extend(collected);
                }
                Some("Tracing.tracingComplete") => {
                    ensure!(message["params"]["dataLossOccurred"] == false, "the trace has holes");
                    return presented(events);
                }
                _ => {}
            }
        }
    }
}

fn presented(mut events: Vec<Value>) -> Result<HashMap<String, f64>> {
    events.sort_by(|one, other| time(one).total_cmp(&time(other)));
    let mut frames = frames(&events);
    frames.sort_by(|one, other| one.began_us.total_cmp(&other.began_us));
    let mut presented = HashMap::new();
    for mark in events.iter().filter(|event| event["cat"] == MARKS) {
        let (Some(name), Some(page_ms)) = (mark["name"].as_str(), mark["args"]["data"]["startTime"].as_f64())
        else {
            continue;
        };
        let marked_us = time(mark);
        let after = |frame: &&Frame| mark["pid"] == frame.process && frame.began_us > marked_us;
        if let Some(frame) = frames.iter().find(after) {
            presented.insert(name.to_owned(), page_ms + (frame.presented_us - marked_us) / 1000.0);
        }
    }
    Ok(presented)
}

/// All that were presented with what their main thread made. A frame's spans share a process and an id,
/// which is given again once the frame is over.
fn frames(events: &[Value]) -> Vec<Frame> {
    let mut in_flight: HashMap<(u64, &str), (bool, f64)> = HashMap::new();
    let mut frames = Vec::new();
    for event in events.iter().filter(|event| event["cat"].as_str().is_some_and(|it| it.contains(FRAMES))) {
        let (Some(process), Some(id)) = (event["pid"].as_u64(), event["id2"]["local"].as_str()) else {
            continue;
        };
        let key = (process, id);
        match (event["name"].as_str(), event["ph"].as_str()) {
            (Some("PipelineReporter"), Some("b")) => {
                let whole = event["args"]["frame_reporter"]["state"] == "STATE_PRESENTED_ALL";
                in_flight.insert(key, (whole, f64::NAN));
            }
            (Some("SendBeginMainFrameToCommit"), Some("b")) => {
                let waited = &event["args"]["send_begin_mainframe_to_commit_breakdown"];
                let began =
                    time(event) + waited["begin_main_sent_to_started_us"].as_f64().unwrap_or(f64::NAN);
                in_flight.entry(key).and_modify(|(_, at)| *at = began);
            }
            (Some("PipelineReporter"), Some("e")) => {
                if let Some((true, began_us)) = in_flight.remove(&key)
                    && began_us.is_finite()
                {
                    frames.push(Frame { process, began_us, presented_us: time(event) });
                }
            }
            _ => {}
        }
    }
    frames
}

/// In microseconds.
fn time(event: &Value) -> f64 {
    event["ts"].as_f64().unwrap_or(f64::NAN)
}

const MARKS: &str = "blink.user_timing";
const FRAMES: &str = "disabled-by-default-devtools.timeline.frame";
const CATEGORIES: [&str; 2] = [MARKS, FRAMES];

//! Ollama's native chat API: NDJSON lines with dates. The last line contains the durations that this server
//! measured.

use std::time::Duration;

use super::spelling::Spelling;
use crate::answer::Answer;
use crate::event::{Event, Moments};
use crate::json::{Json, obj};

pub(super) struct Ollama;

impl Spelling for Ollama {
    /// Ollama sends nothing before the first token.
    fn opening(&self, _: &Answer) -> Vec<Event> {
        Vec::new()
    }

    fn delta(&self, answer: &Answer, at: usize) -> Event {
        let (model, word) = (answer.model.clone(), answer.words[at].clone());
        let text = word.clone();
        Event::timed(move |moments| {
            let message = obj!("role": "assistant", "content": &word);
            line(&obj!("model": &model, "created_at": &date(moments.wall), "message": message, "done": false))
        })
        .carrying(&text)
    }

    fn closing(&self, answer: &Answer) -> Vec<Event> {
        let (model, input, output) = (answer.model.clone(), answer.input_tokens, answer.output_tokens());
        let spell = move |moments: &Moments| {
            let first_ms = moments.first_token_ms.unwrap_or(moments.now_ms);
            let scheduled_ms = moments.scheduled_ms.unwrap_or_default();
            line(&obj!(
                "model": &model,
                "created_at": &date(moments.wall),
                "message": obj!("role": "assistant", "content": ""),
                "done": true,
                "done_reason": "stop",
                "total_duration": nanoseconds(moments.now_ms),
                "load_duration": nanoseconds(scheduled_ms),
                "prompt_eval_count": input,
                "prompt_eval_duration": nanoseconds(first_ms - scheduled_ms),
                "eval_count": output,
                "eval_duration": nanoseconds(moments.last_token_ms - first_ms),
            ))
        };
        vec![Event::timed(spell)]
    }

    fn failure(&self, _: &Answer, _: usize) -> Vec<Event> {
        vec![Event::fixed(line(&error("llama runner process has terminated: exit status 2")))]
    }

    fn refusal(&self, _: u16, message: &str) -> String {
        error(message).to_string()
    }

    fn id(&self, _: &Answer) -> Option<String> {
        None
    }
}

fn line(json: &Json) -> String {
    format!("{json}\n")
}

fn error(message: &str) -> Json {
    obj!("error": message)
}

fn nanoseconds(ms: f64) -> u64 {
    (ms * 1e6) as u64
}

/// RFC 3339 with nanoseconds, as Go prints it. The date is computed by Howard Hinnant's `civil_from_days`.
fn date(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let nanos = since_1970.subsec_nanos();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_convert_to_calendar_dates() {
        assert_eq!(date(Duration::ZERO), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(date(Duration::new(1_709_251_199, 5)), "2024-02-29T23:59:59.000000005Z");
        assert_eq!(date(Duration::new(1_795_174_141, 776_123_456)), "2026-11-20T11:29:01.776123456Z");
    }
}

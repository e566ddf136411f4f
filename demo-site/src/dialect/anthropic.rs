//! Anthropic Messages: the events from `message_start` to `message_stop`.

use super::spelling::Spelling;
use crate::answer::Answer;
use crate::event::Event;
use crate::json::{Json, NULL, obj};

pub(super) struct Anthropic;

impl Spelling for Anthropic {
    fn opening(&self, answer: &Answer) -> Vec<Event> {
        let message = obj!(
            "id": self.id(answer),
            "type": "message",
            "role": "assistant",
            "model": &answer.model,
            "content": [],
            "stop_reason": NULL,
            "stop_sequence": NULL,
            "usage": obj!(
                "input_tokens": answer.input_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 1,
            ),
        );
        let block = obj!("type": "text", "text": "");
        vec![
            event(&obj!("type": "message_start", "message": message), "message_start"),
            event(
                &obj!("type": "content_block_start", "index": 0, "content_block": block),
                "content_block_start",
            ),
            event(&obj!("type": "ping"), "ping"),
        ]
    }

    fn delta(&self, answer: &Answer, at: usize) -> Event {
        let word = &answer.words[at];
        let delta = obj!("type": "text_delta", "text": word);
        let data = obj!("type": "content_block_delta", "index": 0, "delta": delta);
        event(&data, "content_block_delta").carrying(word)
    }

    fn closing(&self, answer: &Answer) -> Vec<Event> {
        let delta = obj!("stop_reason": "end_turn", "stop_sequence": NULL);
        let usage = obj!("output_tokens": answer.output_tokens());
        vec![
            event(&obj!("type": "content_block_stop", "index": 0), "content_block_stop"),
            event(&obj!("type": "message_delta", "delta": delta, "usage": usage), "message_delta"),
            event(&obj!("type": "message_stop"), "message_stop"),
        ]
    }

    fn failure(&self, answer: &Answer, _: usize) -> Vec<Event> {
        let error = obj!("type": "overloaded_error", "message": "Overloaded");
        let request = format!("req_{}", answer.id);
        vec![event(&obj!("type": "error", "error": error, "request_id": &request), "error")]
    }

    fn refusal(&self, status: u16, message: &str) -> String {
        let kind = match status {
            429 => "rate_limit_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        let error = obj!("type": kind, "message": message);
        obj!("type": "error", "error": error).to_string()
    }

    fn id(&self, answer: &Answer) -> Option<String> {
        Some(format!("msg_{}", answer.id))
    }
}

fn event(data: &Json, name: &str) -> Event {
    Event::named(name, data)
}

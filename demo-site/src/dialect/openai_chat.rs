//! OpenAI chat completions: `chat.completion.chunk` events up to `[DONE]`.

use super::spelling::Spelling;
use crate::answer::Answer;
use crate::event::Event;
use crate::json::{Json, NULL, obj};

pub(super) struct OpenaiChat;

impl Spelling for OpenaiChat {
    fn opening(&self, answer: &Answer) -> Vec<Event> {
        let role = obj!("role": "assistant", "content": "", "refusal": NULL);
        vec![Event::data(&chunk(answer, [choice(role, None)], None))]
    }

    fn delta(&self, answer: &Answer, at: usize) -> Event {
        let word = &answer.words[at];
        Event::data(&chunk(answer, [choice(obj!("content": word), None)], None)).carrying(word)
    }

    fn closing(&self, answer: &Answer) -> Vec<Event> {
        let (input, output) = (answer.input_tokens, answer.output_tokens());
        let usage = obj!(
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": input + output,
            "prompt_tokens_details": obj!("cached_tokens": 0),
            "completion_tokens_details": obj!("reasoning_tokens": 0),
        );
        vec![
            Event::data(&chunk(answer, [choice(obj!(), Some("stop"))], None)),
            Event::data(&chunk(answer, [], Some(usage))),
            Event::fixed("data: [DONE]\n\n"),
        ]
    }

    /// Sends the error and then the end marker, as vLLM and SGLang do.
    fn failure(&self, _: &Answer, _: usize) -> Vec<Event> {
        let error = obj!(
            "message": "The server had an error while processing your request",
            "type": "server_error",
            "param": NULL,
            "code": "internal_error",
        );
        vec![Event::data(&obj!("error": error)), Event::fixed("data: [DONE]\n\n")]
    }

    fn refusal(&self, status: u16, message: &str) -> String {
        error(status, message)
    }

    fn id(&self, answer: &Answer) -> Option<String> {
        Some(format!("chatcmpl-{}", answer.id))
    }
}

/// The error body of both OpenAI APIs.
pub(super) fn error(status: u16, message: &str) -> String {
    let (kind, code) = match status {
        429 => ("requests", Some("rate_limit_exceeded")),
        500.. => ("server_error", None),
        _ => ("invalid_request_error", None),
    };
    let error = obj!("message": message, "type": kind, "param": NULL, "code": code);
    obj!("error": error).to_string()
}

fn chunk<const N: usize>(answer: &Answer, choices: [Json; N], usage: Option<Json>) -> Json {
    obj!(
        "id": OpenaiChat.id(answer),
        "object": "chat.completion.chunk",
        "created": answer.created,
        "model": &answer.model,
        "service_tier": "default",
        "system_fingerprint": "fp_demo",
        "choices": choices,
        "usage": usage,
    )
}

fn choice(delta: Json, finish_reason: Option<&str>) -> Json {
    obj!("index": 0, "delta": delta, "logprobs": NULL, "finish_reason": finish_reason)
}

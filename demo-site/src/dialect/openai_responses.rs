//! OpenAI Responses: numbered `response.*` events.

use super::spelling::Spelling;
use crate::answer::Answer;
use crate::event::Event;
use crate::json::{Json, NULL, obj};

pub(super) struct OpenaiResponses;

/// Number of opening events: `response.created`, `.in_progress`, `.output_item.added` and
/// `.content_part.added`.
const OPENING: u64 = 4;

impl Spelling for OpenaiResponses {
    fn opening(&self, answer: &Answer) -> Vec<Event> {
        let empty = response(answer, "in_progress", None);
        let part = at_part(answer, "response.content_part.added", 3, ("part", text_part("")));
        vec![
            event("response.created", 0, ("response", empty.clone())),
            event("response.in_progress", 1, ("response", empty)),
            item_event("response.output_item.added", 2, item(answer, "in_progress", None)),
            part,
        ]
    }

    fn delta(&self, answer: &Answer, at: usize) -> Event {
        let word = &answer.words[at];
        let name = "response.output_text.delta";
        at_part(answer, name, OPENING + at as u64, ("delta", Json::from(word))).carrying(word)
    }

    fn closing(&self, answer: &Answer) -> Vec<Event> {
        let first = OPENING + answer.words.len() as u64;
        let text = answer.text();
        let done = item(answer, "completed", Some(&text));
        vec![
            at_part(answer, "response.output_text.done", first, ("text", Json::from(&text))),
            at_part(answer, "response.content_part.done", first + 1, ("part", text_part(&text))),
            item_event("response.output_item.done", first + 2, done.clone()),
            event("response.completed", first + 3, ("response", response(answer, "completed", Some(done)))),
        ]
    }

    fn failure(&self, answer: &Answer, at: usize) -> Vec<Event> {
        let message = "The server had an error while processing your request";
        let next = OPENING + at as u64;
        let error = obj!(
            "type": "error",
            "sequence_number": next,
            "code": "server_error",
            "message": message,
            "param": NULL,
        );
        let failed = obj!(
            "id": self.id(answer),
            "object": "response",
            "created_at": answer.created,
            "status": "failed",
            "error": obj!("code": "server_error", "message": message),
            "model": &answer.model,
            "output": [],
            "usage": NULL,
        );
        vec![Event::named("error", &error), event("response.failed", next + 1, ("response", failed))]
    }

    fn refusal(&self, status: u16, message: &str) -> String {
        super::openai_chat::error(status, message)
    }

    fn id(&self, answer: &Answer) -> Option<String> {
        Some(format!("resp_{}", answer.id))
    }
}

fn event(name: &str, number: u64, (key, value): (&str, Json)) -> Event {
    let pairs = [("type", Json::from(name)), ("sequence_number", Json::from(number)), (key, value)];
    Event::named(name, &Json::object(&pairs))
}

fn item_event(name: &str, number: u64, item: Json) -> Event {
    Event::named(name, &obj!("type": name, "sequence_number": number, "output_index": 0, "item": item))
}

fn at_part(answer: &Answer, name: &str, number: u64, (key, value): (&str, Json)) -> Event {
    let pairs = [
        ("type", Json::from(name)),
        ("sequence_number", Json::from(number)),
        ("item_id", Json::from(&message_id(answer))),
        ("output_index", Json::from(0)),
        ("content_index", Json::from(0)),
        (key, value),
    ];
    Event::named(name, &Json::object(&pairs))
}

fn message_id(answer: &Answer) -> String {
    format!("msg_{}", answer.id)
}

fn text_part(text: &str) -> Json {
    obj!("type": "output_text", "text": text, "annotations": [], "logprobs": [])
}

/// The only message of the response. Its content is empty if `text` is `None`.
fn item(answer: &Answer, status: &str, text: Option<&str>) -> Json {
    let content = match text {
        Some(text) => Json::from([text_part(text)]),
        None => Json::from([]),
    };
    obj!("id": &message_id(answer), "type": "message", "status": status, "role": "assistant", "content": content)
}

fn response(answer: &Answer, status: &str, message: Option<Json>) -> Json {
    let (input, output) = (answer.input_tokens, answer.output_tokens());
    let usage = message.is_some().then(|| {
        obj!(
            "input_tokens": input,
            "input_tokens_details": obj!("cached_tokens": 0),
            "output_tokens": output,
            "output_tokens_details": obj!("reasoning_tokens": 0),
            "total_tokens": input + output,
        )
    });
    let output = match message {
        Some(message) => Json::from([message]),
        None => Json::from([]),
    };
    obj!(
        "id": OpenaiResponses.id(answer),
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "error": NULL,
        "incomplete_details": NULL,
        "model": &answer.model,
        "output": output,
        "parallel_tool_calls": true,
        "usage": usage,
    )
}

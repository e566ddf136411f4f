//! Events as serde types, with the fields that the meter reads and no others.

use std::borrow::Cow;

use serde::Deserialize;

/// A string that is copied only if it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Lent<'a>(#[serde(borrow)] Cow<'a, str>);

/// Strings, borrowed or owned.
pub(crate) trait Words {
    fn is_text(&self) -> bool;
}

impl Words for String {
    fn is_text(&self) -> bool {
        !self.is_empty()
    }
}

impl Words for Lent<'_> {
    fn is_text(&self) -> bool {
        !self.0.is_empty()
    }
}

/// A chunk of OpenAI chat.
#[derive(Deserialize)]
#[expect(dead_code, reason = "what is parsed counts, whoever reads it")]
pub(crate) struct ChatChunk<S> {
    id: Option<S>,
    model: Option<S>,
    #[serde(default = "Vec::new")]
    choices: Vec<Choice<S>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is parsed counts, whoever reads it")]
struct Choice<S> {
    index: u32,
    delta: Delta<S>,
    finish_reason: Option<S>,
}

#[derive(Deserialize)]
struct Delta<S> {
    content: Option<S>,
    reasoning_content: Option<S>,
    refusal: Option<S>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is parsed counts, whoever reads it")]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

impl<S: Words> ChatChunk<S> {
    pub(crate) fn has_text(&self) -> bool {
        self.choices.iter().any(|Choice { delta, .. }| {
            [&delta.content, &delta.reasoning_content, &delta.refusal].into_iter().flatten().any(S::is_text)
        })
    }
}

/// An event of Anthropic Messages.
#[derive(Deserialize)]
#[expect(dead_code, reason = "what is parsed counts, whoever reads it")]
pub(crate) struct MessagesEvent<S> {
    r#type: S,
    index: Option<u32>,
    delta: Option<Part<S>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is parsed counts, whoever reads it")]
struct Part<S> {
    r#type: Option<S>,
    text: Option<S>,
    thinking: Option<S>,
    partial_json: Option<S>,
    stop_reason: Option<S>,
}

impl<S: Words> MessagesEvent<S> {
    pub(crate) fn has_text(&self) -> bool {
        let Some(delta) = &self.delta else { return false };
        [&delta.text, &delta.thinking, &delta.partial_json].into_iter().flatten().any(S::is_text)
    }
}

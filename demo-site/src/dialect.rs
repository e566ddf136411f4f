//! The wire formats of the scripted server, one file per API.

mod anthropic;
mod ollama;
mod openai_chat;
mod openai_responses;
mod spelling;

use self::spelling::Spelling;
use crate::api::Api;

/// The formatter of an API.
pub(crate) fn of(api: Api) -> &'static dyn Spelling {
    match api {
        Api::OpenaiChat => &openai_chat::OpenaiChat,
        Api::OpenaiResponses => &openai_responses::OpenaiResponses,
        Api::Anthropic => &anthropic::Anthropic,
        Api::Ollama => &ollama::Ollama,
    }
}

//! The list of all dialects, each a table in a file of its own.

use super::schema::Dialect;
use crate::build_variant::ALL_DIALECTS;

pub(super) mod shared_tables;

macro_rules! dialects {
    ({ $($usual:ident,)* } { $($rare:ident,)* }) => {
        $(mod $usual;)*
        $(mod $rare;)*

        /// In the order in which they are tried on each event until one matches.
        pub(super) const DIALECTS: &[&Dialect] = if ALL_DIALECTS {
            &[$(&$usual::DIALECT,)* $(&$rare::DIALECT,)*]
        } else {
            &[$(&$usual::DIALECT,)*]
        };
    };
}

dialects! {
    {
        openai_completions,
        openai_chat,
        openai_responses,
        anthropic,
        ai_sdk_ui,
    }
    {
        gemini,
        ollama,
        gemini_interactions,
        mistral_conversations,
        cohere,
        ag_ui,
        ai_sdk_data,
        langgraph,
        chat_ui,
        lobe_chat,
        tgi,
        gradio,
        gradio_call,
    }
}

//! The list of all dialects. Each is a table in a file of its own.

use super::schema::Dialect;

pub(super) mod shared_tables;

macro_rules! dialects {
    ({ $($usual:ident,)* } { $($rare:ident,)* }) => {
        $(mod $usual;)*
        $(mod $rare;)*

        /// Tried in this order on each event until one knows it.
        pub(super) const DIALECTS: &[&Dialect] = &[$(&$usual::DIALECT,)* $(&$rare::DIALECT,)*];
        /// How many of them, from the first on, every probe reads.
        pub(super) const USUAL: usize = [$(stringify!($usual)),*].len();
    };
}

dialects! {
    {
        openai_completions,
        openai_chat,
        openai_responses,
        anthropic,
        gemini,
        ai_sdk_ui,
    }
    {
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
    }
}

//! The list of all dialects, each a table in a file of its own.

use super::schema::Dialect;

pub(super) mod shared_tables;

macro_rules! dialects {
    ({ $($usual:ident,)* } { $($rare:ident,)* }) => {
        $(mod $usual;)*
        $(mod $rare;)*

        /// In the order in which they are tried on each event until one matches.
        pub(super) const DIALECTS: &[&Dialect] = &[$(&$usual::DIALECT,)* $(&$rare::DIALECT,)*];
        /// The number of dialects, from the first on, that every build reads.
        pub(super) const USUAL: usize = [$(stringify!($usual)),*].len();
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
    }
}

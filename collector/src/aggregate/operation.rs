//! The operation of OpenTelemetry's GenAI conventions that a stream belongs to, by its dialect.

/// A well-known value of `gen_ai.operation.name`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Operation {
    /// Also of streams whose dialect does not tell.
    #[default]
    Chat,
    TextCompletion,
    GenerateContent,
    InvokeAgent,
}

impl Operation {
    /// In the order of their numbers in the store. Never reuse a number.
    const ALL: [Self; 4] = [Self::Chat, Self::TextCompletion, Self::GenerateContent, Self::InvokeAgent];

    pub(crate) fn of_dialect(dialect: Option<&str>) -> Self {
        match dialect.unwrap_or_default() {
            "openai_completions" | "tgi" => Self::TextCompletion,
            "gemini" | "gemini_interactions" => Self::GenerateContent,
            "mistral_conversations" | "ag_ui" | "langgraph" => Self::InvokeAgent,
            _ => Self::Chat,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::TextCompletion => "text_completion",
            Self::GenerateContent => "generate_content",
            Self::InvokeAgent => "invoke_agent",
        }
    }

    /// Its number in the store.
    pub(crate) const fn stored_as(self) -> u8 {
        self as u8
    }

    /// The operation with this number in the store.
    pub(crate) fn of_stored(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_gives_back_each_operation() {
        for operation in Operation::ALL {
            assert_eq!(Operation::of_stored(operation.stored_as()), Some(operation));
        }
        assert_eq!(Operation::of_stored(Operation::ALL.len() as u8), None);
    }
}

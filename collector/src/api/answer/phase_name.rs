//! Names of the phases of the wait in answers.

use schemars::JsonSchema;
use serde::Serialize;

/// Names of the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PhaseName {
    Dns,
    Connect,
    App,
    ModelCall,
    ServerQueue,
    Prefill,
    Server,
    Network,
    MainThread,
    Reasoning,
    Paint,
    /// The rest, which no phase explains. Only among means.
    NotReported,
}

impl PhaseName {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::App => "app",
            Self::ModelCall => "model_call",
            Self::ServerQueue => "server_queue",
            Self::Prefill => "prefill",
            Self::Server => "server",
            Self::Network => "network",
            Self::MainThread => "main_thread",
            Self::Reasoning => "reasoning",
            Self::Paint => "paint",
            Self::NotReported => "not_reported",
        }
    }

    /// Whether it is a part of the wait for the first token of any kind.
    pub(crate) const fn is_before_token(self) -> bool {
        !matches!(self, Self::Reasoning | Self::Paint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_one_name_in_json_and_in_tables() {
        for phase in [PhaseName::Dns, PhaseName::ServerQueue, PhaseName::MainThread, PhaseName::NotReported] {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.as_str());
        }
    }
}

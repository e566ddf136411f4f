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
    /// The rest, which no phase explains. Only around the p95.
    NotReported,
}

//! The figures that are read from engines.

use schemars::JsonSchema;
use serde::Serialize;

/// A figure of an engine's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Figure {
    /// Requests that wait in the queue.
    Waiting,
    /// Requests that are computed.
    Running,
    /// Share of the KV cache in use, from 0 to 1.
    KvUsage,
    /// Requests that lost their place to others.
    Preemptions,
    /// Prompt tokens found in the prefix cache.
    CacheHits,
    /// Prompt tokens looked for in the prefix cache.
    CacheQueries,
    /// Tokens that speculative decoding proposed.
    Drafted,
    /// Proposed tokens that were accepted.
    Accepted,
}

/// How the series of a model become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combination {
    Sum,
    /// Shares of several processes: their sum would pass 1.
    Max,
    /// Sum of the increases of counters.
    Increase,
}

impl Figure {
    pub(crate) const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Running,
        Self::KvUsage,
        Self::Preemptions,
        Self::CacheHits,
        Self::CacheQueries,
        Self::Drafted,
        Self::Accepted,
    ];

    pub(crate) const fn combination(self) -> Combination {
        match self {
            Self::Waiting | Self::Running => Combination::Sum,
            Self::KvUsage => Combination::Max,
            _ => Combination::Increase,
        }
    }
}

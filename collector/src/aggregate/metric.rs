//! The distributions of a window: the value of each, its name in the store, and the distributions that are read with
//! it.

/// A distribution of a window. The number names it in stored bytes: never reuse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Metric {
    /// Request to first generated text.
    Ttft = 0,
    /// Request to first visible text.
    Ttfv = 1,
    /// Request to last generated text.
    E2e = 2,
    /// Time per output token after the first.
    Tpot = 3,
    /// Time between reads that carried generated text.
    Gap = 4,
    /// The server's own time to first token.
    ServerTtft = 5,
    /// The client's time to first token, if the server's is known too.
    JoinedTtft = 6,
    /// Client minus server, if both are known. Below zero counts as zero.
    Overhead = 7,
    /// The server's time to first token, if the client's is known too.
    JoinedServerTtft = 8,
    /// Request to the first frame with visible text in it.
    Ttfp = 9,
    /// Request to the end, of streams that their users ended before any text.
    AbandonedTtft = 10,
    /// Request to the end, of streams that failed before any text.
    FailedTtft = 11,
    /// Request to the end, of streams that their users ended before visible text.
    AbandonedTtfv = 12,
    /// Request to the end, of streams that failed before visible text.
    FailedTtfv = 13,
}

/// Distributions of the censored waits for a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CensoredMetrics {
    /// The user stopped the stream, or left.
    pub(crate) abandoned: Metric,
    /// The service failed.
    pub(crate) failed: Metric,
}

impl Metric {
    pub(crate) const ALL: [Self; 14] = [
        Self::Ttft,
        Self::Ttfv,
        Self::E2e,
        Self::Tpot,
        Self::Gap,
        Self::ServerTtft,
        Self::JoinedTtft,
        Self::Overhead,
        Self::JoinedServerTtft,
        Self::Ttfp,
        Self::AbandonedTtft,
        Self::FailedTtft,
        Self::AbandonedTtfv,
        Self::FailedTtfv,
    ];

    /// Its name in stores with one column per distribution.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Ttfv => "ttfv",
            Self::E2e => "e2e",
            Self::Tpot => "tpot",
            Self::Gap => "gap",
            Self::ServerTtft => "server_ttft",
            Self::JoinedTtft => "joined_ttft",
            Self::Overhead => "overhead",
            Self::JoinedServerTtft => "joined_server_ttft",
            Self::Ttfp => "ttfp",
            Self::AbandonedTtft => "left_ttft",
            Self::FailedTtft => "failed_ttft",
            Self::AbandonedTtfv => "left_ttfv",
            Self::FailedTtfv => "failed_ttfv",
        }
    }

    /// Distributions of the censored waits for it. `None` if users do not wait for it, or if its absence does
    /// not mean that the token never came.
    pub(crate) const fn censored(self) -> Option<CensoredMetrics> {
        match self {
            Self::Ttft => Some(CensoredMetrics { abandoned: Self::AbandonedTtft, failed: Self::FailedTtft }),
            Self::Ttfv => Some(CensoredMetrics { abandoned: Self::AbandonedTtfv, failed: Self::FailedTtfv }),
            _ => None,
        }
    }

    /// Distributions that a query for it has to read.
    pub(crate) fn with_censored(self) -> Vec<Self> {
        let censored = self.censored().map(|CensoredMetrics { abandoned, failed }| [abandoned, failed]);
        [self].into_iter().chain(censored.into_iter().flatten()).collect()
    }
}

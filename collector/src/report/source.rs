//! Who sent a report, as far as the limits of label values distinguish senders.

/// Sender of a report. Only memory has it: the journal does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReportSource {
    /// A client without a network of its own: this machine, or a proxy that names no client. Also the backend, and the
    /// journal at a start.
    #[default]
    Unnamed,
    /// A client's network, by a keyed hash that lasts until the collector stops.
    Network(u64),
    /// The operator, with a file.
    Operator,
}

impl ReportSource {
    /// The network, if it is known.
    pub(crate) const fn network(self) -> Option<u64> {
        match self {
            Self::Network(network) => Some(network),
            Self::Unnamed | Self::Operator => None,
        }
    }
}

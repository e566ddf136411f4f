//! How urgently people must know of an alert.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How urgently people must know of an alert, most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AlertSeverity")]
pub enum Severity {
    /// Waits are far beyond their p99 target.
    P1,
    /// Notify the person on call immediately.
    #[serde(rename = "page")]
    Page,
    /// Waits are far beyond their p95 target.
    P2,
    /// Notify the team on the same day.
    #[serde(rename = "incident")]
    Incident,
    /// Waits have been beyond their p95 target for a day.
    P3,
    /// Notify the team within the week.
    #[serde(rename = "ticket")]
    Ticket,
}

impl Severity {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::P1 => "P1",
            Self::Page => "page",
            Self::P2 => "P2",
            Self::Incident => "incident",
            Self::P3 => "P3",
            Self::Ticket => "ticket",
        }
    }

    /// Somebody must act today.
    pub(crate) const fn is_urgent(self) -> bool {
        matches!(self, Self::P1 | Self::Page | Self::P2 | Self::Incident)
    }

    /// Somebody must act now, at night too.
    pub(crate) const fn is_immediate(self) -> bool {
        matches!(self, Self::P1 | Self::Page)
    }
}

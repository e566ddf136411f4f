//! Service level objectives: error budgets, burn-rate alerts and the verdict on a use case.

pub(crate) mod alert;
pub(crate) mod error_budget;
pub(crate) mod explain;
pub(crate) mod verdict;
pub(crate) mod words;

//! Statistical functions, without input or output.

pub(crate) mod binomial;
pub(crate) mod kaplan_meier;

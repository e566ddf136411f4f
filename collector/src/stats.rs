//! Statistical functions without side effects.

pub(crate) mod binomial;
pub(crate) mod kaplan_meier;
pub(crate) mod onset;

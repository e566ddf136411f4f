//! Statistics without input or output.

pub(crate) mod kaplan_meier;

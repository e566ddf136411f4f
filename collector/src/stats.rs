//! Statistical functions without side effects.

pub(crate) mod binomial;
pub(crate) mod hypergeometric;
pub(crate) mod kaplan_meier;
pub(crate) mod onset;

/// 95 % quantile of the standard normal distribution, for bounds on one side.
pub(crate) const Z_95: f64 = 1.644_853_626_951_472_7;
/// 97.5 % quantile, for intervals of 95 %.
const Z_97_5: f64 = 1.959_963_984_540_054;

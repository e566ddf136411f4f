//! Which build of the crate this is: for a page or for a host, with every dialect or only the usual ones.

/// Whether this is compiled for a page. A page loads every byte of code, so code that is only faster is left out of
/// it; results are the same.
pub(crate) const IN_PAGE: bool = cfg!(target_arch = "wasm32");

/// Whether every dialect and framing is compiled in. Otherwise the rare ones are only recognised: a page that meets
/// one loads the build that reads it.
pub(crate) const ALL_DIALECTS: bool = cfg!(feature = "all");

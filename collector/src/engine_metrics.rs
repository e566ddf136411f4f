//! Metrics of inference engines: reads an exposition by a table of names, and folds scrapes into minutes. Needs neither a
//! clock nor a network.

pub(crate) mod exposition;
pub(crate) mod figures;
pub(crate) mod minute;
mod names;
pub(crate) mod scrape;

//! What a request asks for: parameters, the range, and how they are written down for readers.

pub(crate) mod params;
pub(crate) mod query_string;
pub(crate) mod range;
pub(crate) mod schema;

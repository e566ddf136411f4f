//! One stream report on its way through the collector. All later layers use these types.

pub(crate) mod accepted;
pub(crate) mod country;
pub(crate) mod server_fact;
pub(crate) mod source;
pub(crate) mod stream_id;
pub(crate) mod visit;

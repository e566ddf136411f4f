//! Timings that the backend sends: reads them from the formats of other programs, and matches them with the streams that
//! pages report.

pub(crate) mod id_hash;
mod json_items;
pub(crate) mod litellm;
pub(crate) mod matcher;
pub(crate) mod own_json;
pub(crate) mod received_fact;
pub(crate) mod shared_facts;
pub(crate) mod traces;

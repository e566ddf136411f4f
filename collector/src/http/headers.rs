//! Names of headers that axum does not name.

use axum::http::HeaderName;

/// Whose pages may load a response. `cross-origin` also serves pages that isolate themselves.
pub(crate) const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

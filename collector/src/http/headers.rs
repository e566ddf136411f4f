//! Names of headers that axum does not name.

use axum::http::HeaderName;

/// Which pages may load a response. With `cross-origin`, cross-origin isolated pages may load it too.
pub(crate) const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

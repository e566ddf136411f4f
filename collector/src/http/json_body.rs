//! Reads the body of a small JSON request within its bounds.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;

use crate::http::error::{ApiError, Reason};

/// The body, which is announced as JSON. A form of a foreign page cannot announce that.
pub(crate) async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, ApiError> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let message = "unsupported content type: use application/json";
        return Err(ApiError::new(Reason::UnsupportedMediaType, message));
    }
    let Ok(read) = timeout(BODY_TIMEOUT, Limited::new(body, LONGEST_BODY).collect()).await else {
        return Err(ApiError::new(Reason::BodyTimeout, "the body did not arrive within 10 s"));
    };
    let too_large =
        |_| ApiError::new(Reason::BodyTooLarge, "the body is longer than 4096 bytes, or was cut off");
    Ok(read.map_err(too_large)?.to_bytes())
}

const BODY_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_BODY: usize = 4_096;

//! Which requests come from browsers, and which responses can carry a comment.

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// Only browsers send these headers, and no script can set them. Not `Sec-Fetch-Mode`: Node's `fetch` sends it, too.
pub(crate) fn is_from_browser(method: &Method, headers: &HeaderMap) -> bool {
    method != Method::HEAD && (headers.contains_key("sec-fetch-site") || headers.contains_key(header::ORIGIN))
}

pub(crate) fn can_carry_comments(status: StatusCode, headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).map_or(&[][..], HeaderValue::as_bytes);
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let is_identity = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    status == StatusCode::OK
        && essence.eq_ignore_ascii_case(b"text/event-stream")
        && headers.get_all(header::CONTENT_ENCODING).iter().all(is_identity)
}

//! Where a request comes from, by the headers that browsers set and pages cannot change.

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};

use crate::http::error::{ApiError, Reason};

/// Host that the request is addressed to.
pub(crate) fn host(head: &Parts) -> Option<&str> {
    let header = || head.headers.get(HOST).and_then(|host| host.to_str().ok());
    head.uri.authority().map(|authority| authority.as_str()).or_else(header)
}

/// Refuses a request with two `Host` headers: a proxy in front may go by the other one.
pub(crate) fn check_one_host(head: &Parts) -> Result<(), ApiError> {
    if head.headers.get_all(HOST).iter().nth(1).is_none() {
        return Ok(());
    }
    Err(ApiError::new(Reason::BadHost, "the request has more than one `Host` header"))
}

/// Prevents cross-site request forgery: a browser adds a cookie, or a proxy its user, to requests of any page.
pub(crate) fn check_same_origin(head: &Parts) -> Result<(), ApiError> {
    let is_same = match text(head, &SEC_FETCH_SITE) {
        Some(site) => site == "same-origin",
        // Browsers send that header only to secure origins.
        None => origin_host(head).is_some_and(|origin| host(head).is_some_and(|host| is_equal(origin, host))),
    };
    if is_same {
        return Ok(());
    }
    let message = "only a page of this collector may send this request: use its dashboard, or send a token as \
         `Authorization: Bearer TOKEN`";
    Err(ApiError::new(Reason::CrossOrigin, message))
}

/// Whether a page sent the request. Browsers name the page's origin in every request other than GET and HEAD.
pub(crate) fn is_from_page(head: &Parts) -> bool {
    [SEC_FETCH_SITE, ORIGIN].iter().any(|name| head.headers.contains_key(name))
}

/// Whether the browser uses HTTPS. A proxy that ends TLS says so, and so does the page's origin. A client that invents
/// these headers gets a cookie that only its own browser ignores.
pub(crate) fn is_https(head: &Parts) -> bool {
    let is_https = |text: &str| text.trim().eq_ignore_ascii_case("https");
    text(head, &X_FORWARDED_PROTO).and_then(|all| all.split(',').next()).is_some_and(is_https)
        || text(head, &ORIGIN).and_then(|origin| origin.split("://").next()).is_some_and(is_https)
}

fn origin_host(head: &Parts) -> Option<&str> {
    text(head, &ORIGIN)?.split_once("://").map(|(_, host)| host)
}

fn is_equal(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn text<'a>(head: &'a Parts, name: &HeaderName) -> Option<&'a str> {
    head.headers.get(name).map(HeaderValue::to_str)?.ok()
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn head(headers: &[(&str, &str)]) -> Parts {
        let request =
            headers.iter().fold(Request::post("/"), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_pages_of_the_same_origin_pass() {
        for (headers, passes) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "cross-site"), ("host", "a"), ("origin", "https://a")], false),
            (&[("host", "a:1"), ("origin", "http://A:1")], true),
            (&[("host", "a:1"), ("origin", "http://a:2")], false),
            (&[("host", "a"), ("origin", "null")], false),
            (&[("host", "a")], false),
            (&[], false),
        ] {
            assert_eq!(check_same_origin(&head(headers)).is_ok(), passes, "{headers:?}");
        }
    }

    #[test]
    fn https_is_known_by_the_proxy_or_by_the_origin() {
        for (headers, expected) in [
            (&[("x-forwarded-proto", "https")][..], true),
            (&[("x-forwarded-proto", "HTTPS, http")], true),
            (&[("x-forwarded-proto", "http")], false),
            (&[("origin", "https://a")], true),
            (&[("origin", "http://a")], false),
            (&[], false),
        ] {
            assert_eq!(is_https(&head(headers)), expected, "{headers:?}");
        }
    }
}

//! Which pages may send: comes in the `Origin` header's text, goes out yes or no.

use serde::Deserialize;

/// One entry of a site's `origins`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Origin {
    /// Exactly this, such as `https://app.example` or `https://app.example:8443`.
    Exact(String),
    /// Any host below a domain, such as `https://*.app.example`; not the domain itself.
    Below {
        /// With `://`.
        scheme: String,
        /// With the leading dot, and the port where one was given.
        suffix: String,
    },
    /// Any port of 127.0.0.1, localhost and `[::1]`, by http or https.
    Loopback,
}

/// Why a text is no origin.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no origin: write `https://host`, `https://host:port`, `https://*.host` or `loopback`")]
pub struct OriginError(String);

impl Origin {
    /// Whether a page of this origin may send.
    #[must_use]
    pub fn allows(&self, origin: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == origin,
            Self::Below { scheme, suffix } => origin
                .strip_prefix(scheme.as_str())
                .and_then(|host| host.strip_suffix(suffix.as_str()))
                .is_some_and(is_host),
            Self::Loopback => split(origin).is_some_and(|(_, authority)| is_loopback_host(authority)),
        }
    }
}

impl TryFrom<String> for Origin {
    type Error = OriginError;

    fn try_from(text: String) -> Result<Self, OriginError> {
        if text == "loopback" {
            return Ok(Self::Loopback);
        }
        let Some((scheme, authority)) = split(&text) else { return Err(OriginError(text)) };
        let (host, port) = split_port(authority);
        let port_is_good = port.is_none_or(|port| port.parse::<u16>().is_ok());
        let below = host.strip_prefix("*.");
        if !port_is_good || !is_host(below.unwrap_or(host)) {
            return Err(OriginError(text));
        }
        // Browsers leave out the port that goes without saying.
        let told = match (scheme, port) {
            ("http://", Some("80")) | ("https://", Some("443")) => host,
            _ => authority,
        };
        Ok(match below {
            Some(_) => Self::Below { scheme: scheme.to_owned(), suffix: told[1..].to_owned() },
            None => Self::Exact(format!("{scheme}{told}")),
        })
    }
}

/// Whether a `Host` header, or the part of an origin after its scheme, names this machine.
pub(crate) fn is_loopback_host(authority: &str) -> bool {
    let (host, port) = split_port(authority);
    let port_is_good = port.is_none_or(|port| port.parse::<u16>().is_ok());
    port_is_good && matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

fn split(origin: &str) -> Option<(&str, &str)> {
    let end = origin.find("://")? + 3;
    let (scheme, authority) = origin.split_at(end);
    matches!(scheme, "http://" | "https://").then_some((scheme, authority))
}

fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        // The colons of `[::1]` are no port's.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

fn is_host(host: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-[]:".contains(&byte);
    !host.is_empty() && !host.starts_with('.') && host.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: &str, allowed: &[&str], foreign: &[&str]) {
        let origin = Origin::try_from(entry.to_owned()).unwrap();
        for page in allowed {
            assert!(origin.allows(page), "{entry} should allow {page}");
        }
        for page in foreign {
            assert!(!origin.allows(page), "{entry} should not allow {page}");
        }
    }

    #[test]
    fn an_exact_origin_allows_itself_only() {
        check(
            "https://app.example",
            &["https://app.example"],
            &["http://app.example", "https://app.example:8443", "https://app.example.evil", "null", ""],
        );
    }

    #[test]
    fn a_wildcard_allows_what_lies_below_and_not_the_domain() {
        check(
            "https://*.app.example:8443",
            &["https://a.app.example:8443", "https://a.b.app.example:8443"],
            &["https://app.example:8443", "https://.app.example:8443", "https://evil-app.example:8443"],
        );
        check("https://*.app.example", &[], &["https://evil.com/.app.example", "https://a@b.app.example"]);
    }

    #[test]
    fn a_port_that_goes_without_saying_is_left_out_as_browsers_do() {
        check("https://app.example:443", &["https://app.example"], &["https://app.example:80"]);
        check("http://app.example:80", &["http://app.example"], &["http://app.example:443"]);
        check("http://app.example:443", &["http://app.example:443"], &["http://app.example"]);
        check("https://*.app.example:443", &["https://a.app.example"], &["https://a.app.example:8443"]);
        check("https://[2001:db8::1]:443", &["https://[2001:db8::1]"], &[]);
    }

    #[test]
    fn loopback_is_this_machine_on_any_port() {
        check(
            "loopback",
            &["http://127.0.0.1:5173", "http://localhost", "http://[::1]:80", "https://localhost:1"],
            &["http://localhost.evil.com", "http://127.0.0.1.evil.com", "http://localhost:x", "file://"],
        );
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for text in ["", "*", "app.example", "ftp://a", "https://", "https://a/path", "https://A.example"] {
            assert!(Origin::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}

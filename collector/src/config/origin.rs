//! Origins from which pages may send, checked against the `Origin` header.

use std::fmt;

use serde::Deserialize;

/// One entry of a site's `origins`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Origin {
    /// Exactly this origin, such as `https://app.example` or `https://app.example:8443`, or
    /// `capacitor://localhost` for an app's shell.
    Exact(String),
    /// Any host below a domain, such as `https://*.app.example`; not the domain itself.
    Below {
        /// Ends with `://`.
        scheme: String,
        /// Starts with a dot, and includes the port if one is given.
        suffix: String,
    },
    /// Any port of 127.0.0.1, localhost and `[::1]`, by http or https.
    Loopback,
    /// `null`: sandboxed frames and pages from files. Any page can make such a frame, so no other entry allows it.
    Null,
}

/// Error for a text that is not an origin.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid origin: write `https://host`, `https://host:port`, `https://*.host`, `loopback`, \
     `null` for sandboxed frames or, for an app, `scheme://host`"
)]
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
            Self::Loopback => split(origin)
                .is_some_and(|(scheme, authority)| is_http(scheme) && is_loopback_host(authority)),
            Self::Null => origin == NULL,
        }
    }
}

/// As the configuration spells it.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(exact) => f.write_str(exact),
            Self::Below { scheme, suffix } => write!(f, "{scheme}*{suffix}"),
            Self::Loopback => f.write_str(LOOPBACK),
            Self::Null => f.write_str(NULL),
        }
    }
}

impl TryFrom<String> for Origin {
    type Error = OriginError;

    fn try_from(text: String) -> Result<Self, OriginError> {
        match &*text {
            LOOPBACK => return Ok(Self::Loopback),
            NULL => return Ok(Self::Null),
            _ => {}
        }
        let Some((scheme, authority)) = split(&text) else { return Err(OriginError(text)) };
        if !is_http(scheme) {
            // App shells have no ports and no subdomains.
            let is_app = is_scheme(scheme) && is_host(authority) && !authority.contains(['[', ']', ':']);
            return if is_app { Ok(Self::Exact(text)) } else { Err(OriginError(text)) };
        }
        let (host, port) = split_port(authority);
        let port_is_good = port.is_none_or(|port| port.parse::<u16>().is_ok());
        let below = host.strip_prefix("*.");
        if !port_is_good || !is_host(below.unwrap_or(host)) {
            return Err(OriginError(text));
        }
        // Browsers leave out the default port.
        let rest = match (scheme, port) {
            ("http://", Some("80")) | ("https://", Some("443")) => host,
            _ => authority,
        };
        Ok(match below {
            Some(_) => Self::Below { scheme: scheme.to_owned(), suffix: rest[1..].to_owned() },
            None => Self::Exact(format!("{scheme}{rest}")),
        })
    }
}

/// Whether a `Host` header, or the part of an origin after its scheme, names this machine.
pub(crate) fn is_loopback_host(authority: &str) -> bool {
    let (host, port) = split_port(authority);
    let port_is_good = port.is_none_or(|port| port.parse::<u16>().is_ok());
    port_is_good && matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

/// The scheme with its `://`, and what follows.
fn split(origin: &str) -> Option<(&str, &str)> {
    Some(origin.split_at(origin.find("://")? + 3))
}

fn is_http(scheme: &str) -> bool {
    matches!(scheme, "http://" | "https://")
}

fn is_scheme(scheme: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+.-".contains(&byte);
    let name = scheme.trim_end_matches("://");
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(allowed)
}

fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        // The colons inside `[::1]` do not start a port.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

fn is_host(host: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-[]:".contains(&byte);
    !host.is_empty() && !host.starts_with('.') && host.bytes().all(allowed)
}

const LOOPBACK: &str = "loopback";
const NULL: &str = "null";

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
    fn a_wildcard_allows_subdomains_and_not_the_domain_itself() {
        check(
            "https://*.app.example:8443",
            &["https://a.app.example:8443", "https://a.b.app.example:8443"],
            &["https://app.example:8443", "https://.app.example:8443", "https://evil-app.example:8443"],
        );
        check("https://*.app.example", &[], &["https://evil.com/.app.example", "https://a@b.app.example"]);
    }

    #[test]
    fn a_default_port_is_left_out_as_in_browsers() {
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
            &[
                "http://localhost.evil.com",
                "http://127.0.0.1.evil.com",
                "http://localhost:x",
                "file://",
                "null",
            ],
        );
    }

    #[test]
    fn null_is_allowed_by_its_own_entry_only() {
        check("null", &["null"], &["", "https://null", "http://localhost", "null://", "NULL"]);
        check("https://*.app.example", &[], &["null"]);
        check("https://null", &["https://null"], &["null"]);
    }

    #[test]
    fn an_apps_shell_is_an_origin_by_its_own_scheme() {
        for shell in [
            "capacitor://localhost",
            "ionic://localhost",
            "tauri://localhost",
            "app://obsidian.md",
            "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
            "moz-extension://0b8a8c8e-3f6d-4a57-9d0e-1c2b3a4d5e6f",
        ] {
            let longer = format!("{shell}x");
            check(shell, &[shell], &[&longer, "https://localhost", "http://localhost", "null"]);
        }
        check("loopback", &[], &["capacitor://localhost", "tauri://localhost"]);
    }

    #[test]
    fn text_that_is_no_origin_is_refused() {
        for text in [
            "",
            "*",
            "Null",
            "app.example",
            "https://",
            "https://a/path",
            "https://A.example",
            "app://",
            "app://*.obsidian.md",
            "app://localhost:80",
            "app://[::1]",
            "app://a/path",
            "App://a",
            "1app://a",
            "://a",
            "app://b://c",
        ] {
            assert!(Origin::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}

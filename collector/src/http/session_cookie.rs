//! The session cookie of a signed-in browser: when the session ends, signed with the reader's token.
//!
//! The collector stores no sessions. A session survives restarts, is valid on all collectors with the same
//! configuration, and ends when its token is removed.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;

use crate::config::token::Token;

/// What a request shows in its cookies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shown<T> {
    /// No session.
    Nothing,
    /// A session that has ended, or whose token was removed.
    Ended,
    Session(T),
}

/// A cookie for a session that begins now.
pub(crate) fn issue(token: &Token, now_s: i64, is_https: bool) -> HeaderValue {
    let ends_s = now_s + SESSION_SECONDS;
    let signature = hmac::sign(&key(token), message(ends_s).as_bytes());
    cookie(&format!("{ends_s}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)), SESSION_SECONDS, is_https)
}

/// Removes the cookie from the browser.
pub(crate) fn remove(is_https: bool) -> HeaderValue {
    cookie("", 0, is_https)
}

/// The token of the session.
pub(crate) fn read<'a>(headers: &HeaderMap, tokens: &'a [Token], now_s: i64) -> Shown<&'a Token> {
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut shown = Shown::Nothing;
    // A sibling host can add a cookie of the same name, which must not sign anyone out.
    for (_, value) in pairs.filter(|(name, _)| *name == NAME) {
        match token_of(value, tokens, now_s) {
            Some(token) => return Shown::Session(token),
            None => shown = Shown::Ended,
        }
    }
    shown
}

fn token_of<'a>(value: &str, tokens: &'a [Token], now_s: i64) -> Option<&'a Token> {
    let (ends_s, signature) = value.split_once('.')?;
    let ends_s = ends_s.parse().ok().filter(|ends_s| *ends_s > now_s)?;
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
    tokens.iter().find(|token| hmac::verify(&key(token), message(ends_s).as_bytes(), &signature).is_ok())
}

/// Each token signs its own sessions, so that they end with it.
fn key(token: &Token) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, token.token.bytes())
}

fn message(ends_s: i64) -> String {
    format!("llm-rum session until {ends_s}")
}

fn cookie(value: &str, seconds: i64, is_https: bool) -> HeaderValue {
    let secure = if is_https { "; Secure" } else { "" };
    let cookie = format!("{NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(cookie).expect("it consists of visible ASCII")
}

/// Name of the cookie.
pub(crate) const NAME: &str = "llm_rum_session";

/// Thirty days.
const SESSION_SECONDS: i64 = 30 * 86_400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::token::{AllowedSites, Scope};

    const NOW_S: i64 = 1_800_000_000;

    fn token(name: &str, secret: &str) -> Token {
        Token {
            name: name.to_owned(),
            token: secret.into(),
            scopes: vec![Scope::Read],
            sites: AllowedSites::All,
        }
    }

    fn read_all<'a>(lines: &[&str], tokens: &'a [Token], now_s: i64) -> Shown<&'a str> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, HeaderValue::from_str(line).unwrap());
        }
        match read(&headers, tokens, now_s) {
            Shown::Session(token) => Shown::Session(&token.name),
            Shown::Ended => Shown::Ended,
            Shown::Nothing => Shown::Nothing,
        }
    }

    fn issued(token: &Token) -> String {
        let cookie = issue(token, NOW_S, false);
        cookie.to_str().unwrap().split(';').next().unwrap().to_owned()
    }

    #[test]
    fn a_session_is_that_of_its_token_until_it_ends() {
        let tokens = [token("a", "0123456789abcdef"), token("b", "fedcba9876543210")];
        let session = issued(&tokens[1]);
        assert_eq!(read_all(&[&session], &tokens, NOW_S), Shown::Session("b"));
        let last_s = NOW_S + SESSION_SECONDS;
        assert_eq!(read_all(&[&session], &tokens, last_s - 1), Shown::Session("b"));
        assert_eq!(read_all(&[&session], &tokens, last_s), Shown::Ended);
        assert_eq!(read_all(&[&session], &tokens[..1], NOW_S), Shown::Ended, "its token was removed");
        let later = session.replacen('1', "2", 1);
        assert_eq!(read_all(&[&later], &tokens, NOW_S), Shown::Ended, "its end was changed");
    }

    #[test]
    fn a_session_is_found_among_other_cookies() {
        let tokens = [token("a", "0123456789abcdef")];
        let session = issued(&tokens[0]);
        for lines in [
            &[format!("theme=dark; {session}; other=1").as_str()][..],
            &["theme=dark", &session],
            &[&format!("{NAME}=1.x; {session}")],
            &[&format!("{NAME}; {session}")],
        ] {
            assert_eq!(read_all(lines, &tokens, NOW_S), Shown::Session("a"), "{lines:?}");
        }
        assert_eq!(read_all(&[], &tokens, NOW_S), Shown::Nothing);
        assert_eq!(read_all(&[&format!("x{session}")], &tokens, NOW_S), Shown::Nothing);
        for wrong in ["", "1", ".", "9999999999.", "x.AAAA", "9999999999.%"] {
            assert_eq!(read_all(&[&format!("{NAME}={wrong}")], &tokens, NOW_S), Shown::Ended, "{wrong}");
        }
    }

    #[test]
    fn only_a_cookie_of_https_is_secure() {
        let token = token("a", "0123456789abcdef");
        for (cookie, is_secure) in
            [(issue(&token, NOW_S, true), true), (issue(&token, NOW_S, false), false), (remove(true), true)]
        {
            let cookie = cookie.to_str().unwrap();
            assert!(
                cookie.contains("; Path=/; ") && cookie.contains("; HttpOnly; SameSite=Strict"),
                "{cookie}"
            );
            assert_eq!(cookie.ends_with("; Secure"), is_secure, "{cookie}");
            assert!(!cookie.contains("0123456789abcdef"), "{cookie}");
        }
        assert!(remove(false).to_str().unwrap().starts_with("llm_rum_session=; Path=/; Max-Age=0;"));
    }
}

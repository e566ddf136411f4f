//! Finds mistakes in who has access: tokens, the authenticating proxy, and the address to listen on.

use std::collections::HashSet;

use axum::http::header::FORWARDED;

use super::found::{Found, NO_WORD, WORD, is_word};
use crate::config::Config;
use crate::config::secret::Secret;
use crate::config::token::{AllowedSites, Scope, Token};

pub(super) fn check_access(config: &Config, found: &mut Found) {
    if !config.listen.ip().is_loopback() && !config.needs_sign_in() {
        found.add_beside(
            "listen",
            &["tokens", "auth_proxy.header"],
            "is not a loopback address, and without `tokens` anyone who can connect could read the data",
            "add a `[[tokens]]` table with `name` and `token`, or listen on 127.0.0.1",
        );
    }
    let (mut names, mut secrets) = (HashSet::new(), HashSet::new());
    for (index, token) in config.tokens.iter().enumerate() {
        let at = format!("tokens[{index}]");
        check_token(&at, token, config, found);
        if !names.insert(&token.name) {
            found.add(format!("{at}.name"), "is the name of two tokens", "give each token its own name");
        }
        if !secrets.insert(token.token.bytes()) {
            found.add(format!("{at}.token"), "is the same as that of another token", GENERATE);
        }
    }
    if let Some(problem) = config.server.hash_key.as_ref().and_then(no_token) {
        found.add("server.hash_key", format!("is {problem}"), GENERATE);
    }
    for (index, site) in config.sites.iter().enumerate() {
        if let Some(problem) = site.signing_key.as_ref().and_then(no_token) {
            found.add(format!("sites[{index}].signing_key"), format!("is {problem}"), GENERATE);
        }
    }
    if config.server.without_token && config.needs_sign_in() {
        let remedy = "remove it, and give a token the scope `server_timings`";
        found.add("server.without_token", "has no effect where readers sign in", remedy);
    }
    check_client_header(config, found);
    check_auth_proxy(config, found);
}

fn check_token(at: &str, token: &Token, config: &Config, found: &mut Found) {
    let Token { name, token, scopes, sites } = token;
    if !is_word(name) {
        found.add(format!("{at}.name"), NO_WORD, WORD);
    }
    if let Some(problem) = no_token(token) {
        found.add(format!("{at}.token"), format!("is {problem}"), GENERATE);
    }
    if scopes.is_empty() {
        let remedy = "write one or more of `\"read\"`, `\"metrics\"`, `\"markers\"` and `\"server_timings\"`";
        found.add(format!("{at}.scopes"), "is empty, so the token allows nothing", remedy);
    }
    let AllowedSites::Only(allowed) = sites else { return };
    let at = format!("{at}.sites");
    if allowed.is_empty() {
        found.add(&at, "is empty, so the token allows nothing", "name sites, or remove it to allow all");
    }
    for unknown in allowed.iter().filter(|name| !config.sites.iter().any(|site| site.name == **name)) {
        let problem = format!("names `{unknown}`, which is not the name of a site");
        found.add_beside(&at, &["sites"], problem, "write the `name` of a `[[sites]]` table");
    }
    if scopes.contains(&Scope::Metrics) {
        let problem = "cannot limit the scope `metrics`: `/metrics` covers all sites";
        found.add(&at, problem, "remove one of the two, or make two tokens");
    }
}

fn check_client_header(config: &Config, found: &mut Found) {
    if config.ingest.client_header.is_some() && config.ingest.proxies.is_empty() {
        let problem = "has no effect without `ingest.proxies`";
        found.add_beside(
            "ingest.client_header",
            &["ingest.proxies"],
            problem,
            "list the proxies that write it, or remove it",
        );
    }
    if config.ingest.client_header.as_ref() == Some(&FORWARDED) {
        let problem = "has its own syntax (RFC 7239), which the collector does not read";
        let remedy = "name a header in which the proxies write only addresses, such as `x-forwarded-for`";
        found.add("ingest.client_header", problem, remedy);
    }
}

fn check_auth_proxy(config: &Config, found: &mut Found) {
    let (at, Some(header)) = ("auth_proxy.header", &config.auth_proxy.header) else { return };
    if config.ingest.proxies.is_empty() {
        let problem = "has no effect without `ingest.proxies`";
        found.add_beside(
            at,
            &["ingest.proxies"],
            problem,
            "list the proxies that sign readers in, or remove it",
        );
    }
    let others =
        [("ingest.client_header", &config.ingest.client_header), ("country.header", &config.country.header)];
    for (other, _) in others.into_iter().filter(|(_, other)| other.as_ref() == Some(header)) {
        let problem = format!("is also `{other}`, which every request through the proxy has");
        found.add_beside(at, &[other], problem, "name the header that only signed-in users have");
    }
}

/// Why a text cannot be a token that a request can send.
fn no_token(token: &Secret) -> Option<&'static str> {
    let bytes = token.bytes();
    if bytes.starts_with(PLACEHOLDER) {
        return Some("the public value of the example");
    }
    if !bytes.iter().all(u8::is_ascii_graphic) {
        return Some("not visible ASCII only, so no request can send it");
    }
    (bytes.len() < 16).then_some("shorter than 16 bytes")
}

/// The value in `deploy/llm-rum.toml`.
const PLACEHOLDER: &[u8] = b"change-me";
const GENERATE: &str = "generate each with `openssl rand -hex 24`";

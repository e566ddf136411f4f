//! Plain HTTP, as the journeys ask servers on this machine.

/// A client.
///
/// Where cargo builds `demo-site` beside this crate, both share a `reqwest` that wants to be given the
/// cryptography of its TLS before it makes any client, whether that is to use TLS or not.
#[must_use]
pub fn http() -> reqwest::Client {
    let _given_before = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

//! The HTTP client of the relay, the traffic and the timings.

use reqwest::Client;

/// An HTTP client with rustls and ring for TLS.
///
/// # Errors
/// If the system's certificates cannot be read.
pub(crate) fn client() -> reqwest::Result<Client> {
    // A second call fails because the provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().build()
}

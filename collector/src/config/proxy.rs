//! A proxy in front of the collector, by its addresses.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

/// Addresses of proxies: `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Proxy(IpNet);

/// Error for a text that is not a proxy's address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid address: write `10.0.0.7`, `10.0.0.0/8` or `fd00::/8`")]
pub struct ProxyError(String);

impl Proxy {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

impl TryFrom<String> for Proxy {
    type Error = ProxyError;

    fn try_from(text: String) -> Result<Self, ProxyError> {
        let address = text.parse::<IpAddr>().map(IpNet::from);
        text.parse().or(address).map(Self).map_err(|_| ProxyError(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_an_address_is_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0", "example.com", "fd00::/8/8"] {
            assert_eq!(Proxy::try_from(text.to_owned()), Err(ProxyError(text.to_owned())));
        }
    }
}

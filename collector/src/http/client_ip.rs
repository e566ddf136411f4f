//! The network that a request is counted for, from the peer's address and the proxies' header. Addresses are truncated
//! at once; none is stored or logged.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::config::Ingest;
use crate::config::proxy::Proxy;

/// A client's network: the first 24 bits of an IPv4 address, the first 48 of an IPv6 address. That is the
/// size of network that a provider's customer gets, or that an office shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ClientNetwork(u64);

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// This machine, by its loopback address: a local program, or a proxy that `proxies` does not name.
    Own,
    /// The same address, which `proxies` names.
    OwnProxy,
    /// Another of the configured `proxies`, which names its client in a header.
    Proxy,
    /// Any other address.
    Client(ClientNetwork),
}

impl ClientNetwork {
    /// Network of all clients that a proxy does not name, and of the programs on this machine, which could be such
    /// a proxy. They share one limit, so that a client cannot escape limits by keeping the proxy from naming it.
    pub(crate) const UNKNOWN: Self = Self(u64::MAX);

    /// Network of an address. An IPv4-mapped IPv6 address is an IPv4 address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(u64::from(address.to_bits() >> 8) | V4),
            IpAddr::V6(address) => Self((address.to_bits() >> 80) as u64),
        }
    }

    /// First address of the network: all other bits are zero. `None` for the unknown network.
    pub(crate) fn first_address(self) -> Option<IpAddr> {
        match self.0 & V4 {
            _ if self == Self::UNKNOWN => None,
            0 => Some(IpAddr::V6(Ipv6Addr::from_bits(u128::from(self.0) << 80))),
            _ => Some(IpAddr::V4(Ipv4Addr::from_bits((self.0 as u32) << 8))),
        }
    }
}

impl Peer {
    /// Classifies the address that a connection comes from.
    pub(crate) fn of(address: IpAddr, proxies: &[Proxy]) -> Self {
        let address = address.to_canonical();
        match (is_proxy(address, proxies), address.is_loopback()) {
            (true, true) => Self::OwnProxy,
            (true, false) => Self::Proxy,
            (false, true) => Self::Own,
            (false, false) => Self::Client(ClientNetwork::of(address)),
        }
    }

    /// Whether its word about a client, a country or a signed-in user counts.
    pub(crate) const fn is_proxy(self) -> bool {
        matches!(self, Self::OwnProxy | Self::Proxy)
    }

    /// The network that a request of this peer is charged to. `None` only for a request of this machine itself, if
    /// `trust_loopback` says that no proxy hides its clients there.
    pub(crate) fn network(self, headers: &HeaderMap, limits: &Ingest) -> Option<ClientNetwork> {
        let header = limits.client_header.as_ref();
        match self {
            Self::Client(network) => Some(network),
            Self::Own | Self::OwnProxy if limits.trust_loopback && !is_forwarded(headers, header) => None,
            Self::Own => Some(ClientNetwork::UNKNOWN),
            Self::OwnProxy | Self::Proxy => {
                let lines = header.into_iter().flat_map(|name| headers.get_all(name));
                Some(forwarded_for(lines.map(HeaderValue::as_bytes), &limits.proxies))
            }
        }
    }
}

/// Whether a proxy has passed the request on, and says for whom.
pub(crate) fn is_forwarded(headers: &HeaderMap, client_header: Option<&HeaderName>) -> bool {
    ["forwarded", "x-forwarded-for", "x-real-ip"].iter().any(|name| headers.contains_key(*name))
        || client_header.is_some_and(|name| headers.contains_key(name))
}

/// Network of the last address that is not one of our proxies. The client could have written everything
/// before it, invalid UTF-8 included. If only our proxies are found, the network of the leftmost one that was
/// examined.
fn forwarded_for<'a>(lines: impl DoubleEndedIterator<Item = &'a [u8]>, proxies: &[Proxy]) -> ClientNetwork {
    let mut network = ClientNetwork::UNKNOWN;
    for address_text in lines.rev().flat_map(|line| line.rsplit(|byte| *byte == b',')).take(MOST_HOPS) {
        let Some(address) = parse_address(address_text.trim_ascii()) else { return ClientNetwork::UNKNOWN };
        network = ClientNetwork::of(address);
        if !is_proxy(address, proxies) {
            break;
        }
    }
    network
}

/// Parses an address. Some proxies append the port, and put IPv6 addresses in brackets.
fn parse_address(address_text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(address_text).ok()?;
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    if let Some(inner) = text.strip_prefix('[') {
        return inner
            .split(']')
            .next()?
            .parse::<Ipv6Addr>()
            .ok()
            .map(|address| IpAddr::V6(address).to_canonical());
    }
    text.split_once(':')?.0.parse().ok()
}

fn is_proxy(address: IpAddr, proxies: &[Proxy]) -> bool {
    proxies.iter().any(|proxy| proxy.contains(address))
}

/// Marks IPv4 networks: no IPv6 network has this bit. No IPv4 network has all bits set, as `UNKNOWN` has.
const V4: u64 = 1 << 63;

/// Limit of the addresses that are examined, from the end of the header.
const MOST_HOPS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> ClientNetwork {
        ClientNetwork::of(address.parse().unwrap())
    }

    fn proxies(texts: &[&str]) -> Vec<Proxy> {
        texts.iter().map(|text| Proxy::try_from((*text).to_owned()).unwrap()).collect()
    }

    fn behind_proxy<T: AsRef<[u8]>>(lines: &[T]) -> Option<ClientNetwork> {
        let name = HeaderName::from_static("x-forwarded-for");
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(&name, HeaderValue::from_bytes(line.as_ref()).unwrap());
        }
        let limits =
            Ingest { proxies: proxies(&["10.0.0.0/8"]), client_header: Some(name), ..Ingest::default() };
        Peer::of("10.0.0.1".parse().unwrap(), &limits.proxies).network(&headers, &limits)
    }

    #[test]
    fn neighbours_share_a_network_and_others_do_not() {
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.254", true),
            ("192.0.2.1", "192.0.3.1", false),
            ("192.0.2.1", "::ffff:192.0.2.9", true),
            ("2001:db8:1::1", "2001:db8:1:ffff::1", true),
            ("2001:db8:1::1", "2001:db8:2::1", false),
            ("::c000:201", "192.0.2.1", false),
        ] {
            assert_eq!(network(one) == network(other), same, "{one} {other}");
        }
    }

    #[test]
    fn a_network_keeps_the_first_bits_of_an_address() {
        for (address, first) in [
            ("192.0.2.77", "192.0.2.0"),
            ("255.255.255.255", "255.255.255.0"),
            ("2001:db8:1:2::3", "2001:db8:1::"),
        ] {
            assert_eq!(network(address).first_address(), first.parse().ok());
        }
        assert_eq!(ClientNetwork::UNKNOWN.first_address(), None);
    }

    #[test]
    fn the_header_counts_from_proxies_only_and_from_its_end() {
        let client = Some(network("192.0.2.1"));
        assert_eq!(behind_proxy(&["192.0.2.1"]), client);
        assert_eq!(behind_proxy(&["198.51.100.1, 192.0.2.1"]), client, "the client wrote the first");
        assert_eq!(behind_proxy(&["198.51.100.1", "192.0.2.1, 10.1.1.1"]), client);
        assert_eq!(behind_proxy(&["[2001:db8:1::1]:443"]), Some(network("2001:db8:1::1")));
        assert_eq!(behind_proxy(&["192.0.2.1:443"]), client);
        assert_eq!(behind_proxy(&["10.2.2.2, 10.1.1.1"]), Some(network("10.2.2.2")), "one of ours");
        let stranger = Peer::of("192.0.2.77".parse().unwrap(), &proxies(&["10.0.0.0/8"]));
        assert_eq!(stranger, Peer::Client(network("192.0.2.1")));
    }

    #[test]
    fn requests_without_client_ip_share_one_limit() {
        let client = Some(network("192.0.2.1"));
        assert_eq!(behind_proxy(&[b"\xff, 192.0.2.1"]), client, "the client wrote the first");
        assert_eq!(behind_proxy(&["\u{e9}".as_bytes(), b"192.0.2.1"]), client);
        for nobody in ["", "unknown", "192.0.2.1, garbage", "fe80::1%eth0", "for=192.0.2.1", "192.0.2.1,"] {
            assert_eq!(behind_proxy(&[nobody]), Some(ClientNetwork::UNKNOWN), "{nobody}");
        }
        assert_eq!(behind_proxy(&[&b"192.0.2.1"[..], b"\xff"]), Some(ClientNetwork::UNKNOWN));
        assert_eq!(behind_proxy::<&str>(&[]), Some(ClientNetwork::UNKNOWN));
    }

    #[test]
    fn loopback_is_this_machine_unless_it_is_a_proxy() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(Peer::of(address.parse().unwrap(), &[]), Peer::Own, "{address}");
            let known = proxies(&["127.0.0.0/8", "::1"]);
            assert_eq!(Peer::of(address.parse().unwrap(), &known), Peer::OwnProxy, "{address}");
        }
    }

    #[test]
    fn only_trusted_loopback_is_of_no_network() {
        let client_header = || Some(HeaderName::from_static("x-client"));
        let network = |peer: Peer, trust_loopback, client_header, sent: &'static str| {
            let limits = Ingest { trust_loopback, client_header, ..Ingest::default() };
            let value = HeaderValue::from_static("192.0.2.1");
            peer.network(&HeaderMap::from_iter([(HeaderName::from_static(sent), value)]), &limits)
        };
        for peer in [Peer::Own, Peer::OwnProxy] {
            for named in [client_header(), None] {
                assert_eq!(network(peer, true, named.clone(), "via"), None, "{peer:?}");
                assert_eq!(network(peer, false, named, "via"), Some(ClientNetwork::UNKNOWN), "{peer:?}");
            }
            for forwarded in ["forwarded", "x-forwarded-for", "x-real-ip"] {
                assert_eq!(network(peer, true, None, forwarded), Some(ClientNetwork::UNKNOWN), "{forwarded}");
            }
        }
        let client = ClientNetwork::of("192.0.2.1".parse().unwrap());
        assert_eq!(network(Peer::OwnProxy, true, client_header(), "x-client"), Some(client));
        assert_eq!(network(Peer::Own, true, client_header(), "x-client"), Some(ClientNetwork::UNKNOWN));
        assert_eq!(network(Peer::Proxy, true, None, "via"), Some(ClientNetwork::UNKNOWN));
    }
}

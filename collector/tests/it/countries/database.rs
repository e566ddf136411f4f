//! Networks and their countries come in, a file of the MaxMind DB format goes out.

use std::net::IpAddr;

/// A file of the MaxMind DB format, version 2.0, over IPv6: networks, their lengths and their codes.
pub(crate) fn database(networks: &[(&str, u32, &str)]) -> Vec<u8> {
    let mut tree = vec![[None; 2]];
    let mut data = Vec::new();
    for (address, length, code) in networks {
        let (bits, length) = match address.parse::<IpAddr>().unwrap() {
            IpAddr::V4(address) => (u128::from(address.to_bits()), length + 96),
            IpAddr::V6(address) => (address.to_bits(), *length),
        };
        let side = |depth: u32| (bits >> (127 - depth) & 1) as usize;
        let mut at = 0;
        for depth in 0..length - 1 {
            at = match tree[at][side(depth)] {
                Some(Leads::To(next)) => next,
                _ => {
                    tree.push([None; 2]);
                    let next = tree.len() - 1;
                    tree[at][side(depth)] = Some(Leads::To(next));
                    next
                }
            };
        }
        tree[at][side(length - 1)] = Some(Leads::Out(data.len()));
        data.extend(map(&[("country", map(&[("iso_code", text(code))]))]));
    }
    let mut file = Vec::new();
    for lead in tree.iter().flatten() {
        let value = match lead {
            None => tree.len(),
            Some(Leads::To(node)) => *node,
            Some(Leads::Out(offset)) => tree.len() + 16 + offset,
        };
        file.extend(&(value as u32).to_be_bytes()[1..]);
    }
    file.extend([0; 16]);
    file.extend(data);
    file.extend(b"\xab\xcd\xefMaxMind.com");
    let number = |control: &[u8], value: u32| [control, &value.to_be_bytes()].concat();
    let small = |value: u8| vec![0xa1, value];
    file.extend(map(&[
        ("binary_format_major_version", small(2)),
        ("binary_format_minor_version", small(0)),
        ("build_epoch", number(&[0x04, 0x02], 1)),
        ("database_type", text("Countries")),
        ("description", map(&[])),
        ("ip_version", small(6)),
        ("languages", vec![0x00, 0x04]),
        ("node_count", number(&[0xc4], tree.len() as u32)),
        ("record_size", small(24)),
    ]));
    file
}

#[derive(Clone, Copy)]
enum Leads {
    /// Another node.
    To(usize),
    /// The data at an offset.
    Out(usize),
}

/// Up to 28 bytes: longer texts are written otherwise.
fn text(text: &str) -> Vec<u8> {
    [&[0x40 | text.len() as u8], text.as_bytes()].concat()
}

fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let held = entries.iter().flat_map(|(name, value)| [text(name), value.clone()].concat());
    std::iter::once(0xe0 | entries.len() as u8).chain(held).collect()
}

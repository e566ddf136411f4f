//! Bodies that are no beacons: bombs, packing that lies, JSON that is none.

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::Expected::{Accepted, Refused};
use super::{Case, IMPATIENT, Target, beacon, good};

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A gzip head that announces a name, which then goes on and on.
fn gzip_with_a_name_of(bytes: usize) -> Vec<u8> {
    [b"\x1f\x8b\x08\x08\0\0\0\0\0\x03".to_vec(), vec![b'n'; bytes]].concat()
}

#[test]
fn compression_bombs_are_refused() {
    let target = Target::start(IMPATIENT);
    let spaces = vec![b' '; 64 * 1024 * 1024];
    let one = good(1);
    let packed = |coding: &str, body: Vec<u8>| beacon(&format!("content-encoding: {coding}\r\n"), body);
    let (large, broken) = (Refused(413, "body_too_large"), Refused(400, "bad_encoding"));
    let coding = Refused(415, "unsupported_encoding");
    // A stored block of no bytes, again and again: it unpacks to nothing.
    let empty_blocks = [b"\x78\x9c".to_vec(), b"\x00\x00\x00\xff\xff".repeat(50_000)].concat();
    let members = gzip(b" ").repeat(8_000);
    let cases = [
        Case::new("64 MiB of spaces by gzip", packed("gzip", gzip(&spaces)), large),
        Case::new("64 MiB of spaces by deflate", packed("deflate", zlib(&spaces)), large),
        Case::new(
            "a bomb in a good beacon",
            packed("gzip", gzip(&[one.as_bytes(), &spaces].concat())),
            large,
        ),
        Case::new("a bomb in chunks", chunked("gzip", &gzip(&spaces)), large),
        Case::new("a bomb in a bomb", packed("gzip", gzip(&gzip(&spaces))), Refused(400, "bad_json")),
        Case::new("50,000 blocks of nothing", packed("deflate", empty_blocks), broken),
        Case::new("8,000 members", packed("gzip", members), broken),
        Case::new("a name of 200 kB in the head", packed("gzip", gzip_with_a_name_of(200_000)), broken),
        Case::new("nothing by gzip", packed("gzip", Vec::new()), broken),
        Case::new("only the magic number", packed("gzip", b"\x1f\x8b".to_vec()), broken),
        Case::new("a body that is not packed", packed("gzip", one.clone().into_bytes()), broken),
        Case::new("gzip called deflate", packed("deflate", gzip(one.as_bytes())), broken),
        Case::new("deflate called gzip", packed("gzip", zlib(one.as_bytes())), broken),
        Case::new(
            "more after the end",
            packed("gzip", [gzip(one.as_bytes()), vec![0; 100]].concat()),
            broken,
        ),
        Case::new("cut in the middle", packed("gzip", gzip(one.as_bytes())[..100].to_vec()), broken),
        Case::new("packed twice", packed("gzip, gzip", gzip(&gzip(one.as_bytes()))), coding),
        Case::new(
            "two headers",
            beacon("content-encoding: gzip\r\ncontent-encoding: gzip\r\n", gzip(b"{}")),
            coding,
        ),
        Case::new("an unknown coding", packed("br", one.clone().into_bytes()), coding),
        Case::new("an empty coding", packed("", one.clone().into_bytes()), coding),
        Case::new("a good beacon by gzip", packed("gzip", gzip(one.as_bytes())), Accepted),
        Case::new("a good beacon by deflate", packed("deflate", zlib(good(2).as_bytes())), Accepted),
        Case::new("300 kB announced", beacon("content-length: 300000\r\n", "x"), large).half_closed(),
        Case::new("300 kB in chunks", chunked_plain(&[b' '; 300_000]), large),
        Case::new("10 MB", beacon("", vec![b' '; 10_000_000]), large),
        Case::new(
            "10 MB announced by a page that asks first",
            beacon("expect: 100-continue\r\ncontent-length: 10000000\r\n", ""),
            large,
        ),
    ];
    target.withstands(&cases);
}

fn chunked(coding: &str, body: &[u8]) -> Vec<u8> {
    beacon(&format!("content-encoding: {coding}\r\ntransfer-encoding: chunked\r\n"), in_chunks(body))
}

fn chunked_plain(body: &[u8]) -> Vec<u8> {
    beacon("transfer-encoding: chunked\r\n", in_chunks(body))
}

fn in_chunks(body: &[u8]) -> Vec<u8> {
    let mut chunks = Vec::new();
    for part in body.chunks(1_000) {
        write!(chunks, "{:x}\r\n", part.len()).unwrap();
        chunks.extend_from_slice(part);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\n");
    chunks
}

#[test]
fn bodies_that_are_not_json_are_refused() {
    let target = Target::start(IMPATIENT);
    let one = good(1);
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(50_000), close.repeat(50_000));
    let unknown = |value: &str| one.replacen("\"v\":1", &format!("\"v\":1,\"later\":{value}"), 1);
    let mut cases = vec![
        Case::new(
            "UTF-16",
            beacon("", one.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()),
            JSON,
        ),
        Case::new("a broken letter in a known field", bytes_for(&one, "gpt-5", b"gpt-\xff"), JSON),
        Case::new(
            "a broken letter in an unknown field",
            bytes_for(&unknown("\"gpt-0\""), "gpt-0", b"\xc3\x28"),
            JSON,
        ),
        Case::new("an overlong letter", bytes_for(&one, "gpt-5", b"\xc0\xaf"), JSON),
        Case::new("half a surrogate in bytes", bytes_for(&one, "gpt-5", b"\xed\xa0\x80"), JSON),
        Case::new("a known field 50,000 deep", beacon("", one.replacen("100.0", &deep("[", "]"), 1)), FIELD),
        Case::new("100,000 open brackets", beacon("", "[".repeat(100_000)), FIELD),
        Case::new("100,000 open braces", beacon("", "{\"a\":".repeat(40_000)), JSON),
        Case::new(
            "an unknown field 50,000 deep",
            beacon("", unknown(&deep("[", "]")).replace("000001", "000077")),
            Accepted,
        ),
    ];
    for (name, body) in [
        ("an empty body", String::new()),
        ("spaces", " ".repeat(1_000)),
        ("half a beacon", one[..one.len() / 2].to_owned()),
        ("a byte order mark", format!("\u{feff}{one}")),
        ("more after the end", format!("{one}{one}")),
        ("a zero byte after the end", format!("{one}\0")),
        ("a comment", format!("/* */{one}")),
        ("a comma too many", one.replace("}]}", "},]}")),
        ("single quotes", one.replace('"', "'")),
        ("names without quotes", one.replacen("\"reports\"", "reports", 1)),
        ("NaN", one.replacen("100.0", "NaN", 1)),
        ("Infinity", one.replacen("100.0", "Infinity", 1)),
        ("a number beyond a double", one.replacen("100.0", "1e999", 1)),
        ("a number of 100,000 digits", one.replacen("100.0", &"9".repeat(100_000), 1)),
        ("a number with a leading zero", one.replacen("100.0", "0100.0", 1)),
        ("a number with a plus", one.replacen("100.0", "+100.0", 1)),
        ("a number in hexadecimal", one.replacen("100.0", "0x64", 1)),
        ("half a surrogate, escaped", one.replacen("gpt-5", "\\ud800", 1)),
        ("an unknown escape", one.replacen("gpt-5", "\\x41", 1)),
        ("a line end in a string", one.replacen("gpt-5", "gpt\n5", 1)),
        ("a string that does not end", one.replacen("gpt-5\"", "gpt-5", 1)),
        ("HTML", "<!doctype html><script>alert(1)</script>".to_owned()),
        ("a form", "reports=1&v=1".to_owned()),
        ("SQL", "'; DROP TABLE streams; --".to_owned()),
    ] {
        cases.push(Case::new(name, beacon("", body), JSON));
    }
    for (name, body) in [
        ("no reports", "{}".to_owned()),
        ("null", "null".to_owned()),
        ("a list of lists", "[[[]]]".to_owned()),
        ("a report that is null", "{\"reports\":[null]}".to_owned()),
        ("reports by number", "{\"reports\":{\"0\":{}}}".to_owned()),
        ("reports as text", "{\"reports\":\"[]\"}".to_owned()),
        ("reports twice", format!("{{\"reports\":[],{}", &one[1..])),
        ("a field twice", one.replacen("\"chunks\"", "\"chunks\":1,\"chunks\"", 1)),
        ("a field twice, once escaped", one.replacen("\"chunks\"", "\"\\u0063hunks\":1,\"chunks\"", 1)),
        ("a zero byte in a name", one.replacen("gpt-5", "gpt\\u00005", 1)),
    ] {
        cases.push(Case::new(name, beacon("", body), FIELD));
    }
    for (number, later) in [
        "null",
        "{\"__proto__\":{\"a\":1}}",
        "\"\"",
        "1e308",
        "[]",
        &format!("{{{}}}", "\"a\":1,".repeat(10_000) + "\"a\":1"),
        &format!("\"{}\"", "x".repeat(200_000)),
    ]
    .into_iter()
    .enumerate()
    {
        let body = unknown(later).replace("0000000001\"", &format!("00000010{number:02}\""));
        cases.push(Case::new(format!("an unknown field, kind {number}"), beacon("", body), Accepted));
    }
    target.withstands(&cases);
}

fn bytes_for(body: &str, part: &str, bytes: &[u8]) -> Vec<u8> {
    let at = body.find(part).unwrap();
    beacon("", [&body.as_bytes()[..at], bytes, &body.as_bytes()[at + part.len()..]].concat())
}

const JSON: super::Expected = Refused(400, "bad_json");
const FIELD: super::Expected = Refused(400, "bad_field");

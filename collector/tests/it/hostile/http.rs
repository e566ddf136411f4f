//! Heads that are no heads: broken syntax, smuggling, floods, trickles, tricks with paths and queries.

use std::io::Write;

use super::Expected::{Accepted, Below, Elsewhere, Refused};
use super::{Case, Connection, IMPATIENT, Target, beacon, good, request};

#[test]
fn broken_heads_are_refused() {
    let target = Target::start(IMPATIENT);
    let long = "x".repeat(40_000);
    let line = "POST /v1/beacons?site=demo HTTP/1.1";
    let cases = [
        Case::new("no HTTP at all", "hello\r\n\r\n", Below(400)),
        Case::new("a TLS greeting", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", Below(400)),
        Case::new("an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Below(400)).answered(&[]),
        Case::new("a request of HTTP/0.9", "GET /\r\n\r\n", Below(400)),
        Case::new("a version that is none", request("POST / HTTP/9.9", "", ""), Below(400)),
        Case::new("zero bytes", vec![0; 1_000], Below(400)),
        Case::new("a space before the colon", beacon("x-a : 1\r\n", good(1)), Below(400)),
        Case::new("a folded header", beacon("x-a: 1\r\n 2\r\n", good(1)), Below(400)),
        Case::new("a zero byte in a header", beacon("x-a: 1\x002\r\n", good(1)), Below(400)),
        Case::new("a header without a name", beacon(": 1\r\n", good(1)), Below(400)),
        Case::new("a header without a colon", beacon("x-a\r\n", good(1)), Below(400)),
        Case::new("a header name of other letters", beacon("x-ä: 1\r\n", good(1)), Below(400)),
        Case::new("a lone carriage return", beacon("x-a: 1\rx-b: 2\r\n", good(1)), Below(400)),
        Case::new("65 headers", beacon(&"x-a: 1\r\n".repeat(65), good(1)), Below(431)),
        Case::new("10,000 headers", beacon(&"x-a: 1\r\n".repeat(10_000), good(1)), Below(431)),
        Case::new("a header of 40 kB", beacon(&format!("x-a: {long}\r\n"), good(1)), Below(431)),
        Case::new("a header name of 40 kB", beacon(&format!("{long}: 1\r\n"), good(1)), Below(431)),
        Case::new("a path of 40 kB", request(&format!("POST /{long} HTTP/1.1"), "", ""), Below(431)),
        Case::new("a method of 40 kB", request(&format!("{long} / HTTP/1.1"), "", ""), Below(431)),
        Case::new("a megabyte without a line end", vec![b'x'; 1_000_000], Below(431)),
        Case::new("60 headers", beacon(&"x-a: 1\r\n".repeat(60), good(60)), Accepted),
        Case::new(
            "no host",
            format!("{line}\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\n{{}}"),
            Refused(400, "bad_field"),
        ),
        Case::new("two hosts", beacon("host: evil.example\r\n", good(61)), Refused(400, "bad_host")),
        Case::new(
            "an upgrade to another protocol",
            beacon("connection: upgrade\r\nupgrade: websocket\r\n", good(62)),
            Accepted,
        ),
        Case::new(
            "an upgrade to HTTP/2",
            beacon(
                "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n",
                good(63),
            ),
            Accepted,
        ),
        Case::new("an unknown expectation", beacon("expect: the-unexpected\r\n", good(64)), Accepted),
        Case::new(
            "what is refused is not asked to go on",
            beacon("expect: 100-continue\r\norigin: https://evil.example\r\n", ""),
            Refused(403, "foreign_origin"),
        ),
    ];
    target.withstands(&cases);
}

#[test]
fn requests_with_ambiguous_lengths_are_refused() {
    let target = Target::start(IMPATIENT);
    let chunked = |chunks: &str| beacon("transfer-encoding: chunked\r\n", chunks);
    let smuggled = "GET /v1/nothing HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let one = good(1);
    let whole = |id: u128| format!("{:x}\r\n{}\r\n0\r\n\r\n", good(id).len(), good(id));
    let cut = Refused(400, "body_cut");
    let length = |length: &str| beacon(&format!("content-length: {length}\r\n"), &one);
    let mut cases = vec![
        Case::new(
            "two lengths that differ",
            beacon("content-length: 5\r\ncontent-length: 6\r\n", &one),
            Below(400),
        ),
        Case::new(
            "a length in chunks beside a length",
            beacon("content-length: 4\r\ntransfer-encoding: chunked\r\n", whole(2)),
            Accepted,
        ),
        Case::new(
            "chunks beside a length that hides a request",
            beacon("content-length: 5\r\ntransfer-encoding: chunked\r\n", format!("0\r\n\r\n{smuggled}")),
            Refused(400, "bad_json"),
        )
        .answered(&[Refused(400, "bad_json")]),
        Case::new(
            "an unknown transfer coding",
            beacon("transfer-encoding: xchunked\r\n", whole(3)),
            Below(400),
        ),
        Case::new("a packed transfer coding", beacon("transfer-encoding: gzip\r\n", whole(3)), Below(400)),
        Case::new(
            "a coding after the chunks",
            beacon("transfer-encoding: chunked, identity\r\n", whole(3)),
            Below(400),
        ),
        Case::new(
            "chunks twice",
            beacon("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", whole(4)),
            Accepted,
        ),
        Case::new("a coding in odd letters", beacon("transfer-encoding: ChUnKeD\r\n", whole(5)), Accepted),
        Case::new(
            "chunks over HTTP/1.0",
            request("POST /v1/beacons?site=demo HTTP/1.0", "transfer-encoding: chunked\r\n", whole(6)),
            Below(400),
        ),
        Case::new("a chunk size that is none", chunked("xyz\r\nabc\r\n0\r\n\r\n"), cut),
        Case::new("a negative chunk size", chunked("-1\r\nabc\r\n0\r\n\r\n"), cut),
        Case::new("a chunk size beyond 64 bits", chunked("10000000000000000\r\nabc\r\n0\r\n\r\n"), cut),
        Case::new(
            "a chunk size of all ones",
            chunked("ffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
            Refused(408, "body_timeout"),
        ),
        Case::new("a chunk that is longer than it says", chunked("1\r\nabc\r\n0\r\n\r\n"), cut),
        Case::new(
            "an endless chunk extension",
            chunked(&format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(100_000))),
            cut,
        ),
        Case::new(
            "100,000 trailers",
            chunked(&format!("1\r\na\r\n0\r\n{}\r\n", "x-a: 1\r\n".repeat(100_000))),
            cut,
        ),
        Case::new("a body that ends early", beacon("content-length: 1000\r\n", &one), cut).half_closed(),
        Case::new("chunks that end early", chunked("5\r\nab"), cut).half_closed(),
        Case::new(
            "a length of nothing, and then a body",
            beacon("content-length: 0\r\n", smuggled),
            Refused(400, "bad_json"),
        )
        .answered(&[Refused(400, "bad_json"), Elsewhere(404, "not_found")]),
        Case::new("a hundred bad beacons at once", beacon("", "{").repeat(100), Refused(400, "bad_json"))
            .answered(&[Refused(400, "bad_json"); 100]),
    ];
    for bad in ["-1", "+5", "0x10", "5, 6", "5 5", "99999999999999999999", "", "1e3", "٥"] {
        cases.push(Case::new(format!("a length of {bad:?}"), length(bad), Below(400)));
    }
    target.withstands(&cases);
}

#[test]
fn paths_and_queries_lead_nowhere_else() {
    let target = Target::start(IMPATIENT);
    let mut cases = Vec::new();
    for path in [
        "/v1/beacons/",
        "/v1//beacons",
        "//v1/beacons",
        "/V1/BEACONS",
        "/v1/beacons%00",
        "/v1/beacons;a=b",
        "/v1/%62eacons",
        "/v1/./beacons",
        "/v1/x/../beacons",
        "/v1/beacons%2f",
        "/v1/beacons/../../etc/passwd",
        "/..%2f..%2fCargo.toml",
        "/%2e%2e/llm-rum.sqlite",
        "/assets/../../llm-rum.toml",
        "/\\..\\llm-rum.toml",
        "/llm-rum-data/llm-rum.sqlite",
    ] {
        let post = request(&format!("POST {path}?site=demo HTTP/1.1"), "", good(1));
        cases.push(Case::new(format!("POST {path}"), post, Elsewhere(404, "not_found")));
        let get = request(&format!("GET {path}?site=demo HTTP/1.1"), "", "");
        cases.push(Case::new(format!("GET {path}"), get, Elsewhere(404, "not_found")));
    }
    let long = format!("?{}", "a=b&".repeat(2_000));
    for (number, query) in [
        "",
        "?",
        "?site",
        "?site=",
        "?site=nobody",
        "?SITE=demo",
        "?site[]=demo",
        "?site=demo%00",
        "?site=%64emo",
        "?site=demo%20",
        "?site=../demo",
        "?site=demo'--",
        "?site=nobody&site=demo",
        "?xsite=demo",
        "?&&&&",
        "?site=DEMO",
        "?site=\u{fc}",
        long.as_str(),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("query {number}: {}", &query[..query.len().min(30)]);
        let line = format!("POST /v1/beacons{query} HTTP/1.1");
        cases.push(Case::new(name, request(&line, "", good(1)), Refused(403, "unknown_site")));
    }
    let other = |line: &str, id| request(line, "", good(id));
    cases.extend([
        Case::new(
            "the first key counts",
            other("POST /v1/beacons?site=demo&site=nobody HTTP/1.1", 1),
            Accepted,
        ),
        Case::new(
            "a whole address",
            other("POST http://evil.example/v1/beacons?site=demo HTTP/1.1", 2),
            Accepted,
        ),
        Case::new("what follows a #", other("POST /v1/beacons?site=demo#/../x HTTP/1.1", 4), Accepted),
        Case::new("a space in the query", other("POST /v1/beacons?site= demo HTTP/1.1", 5), Below(400)),
        Case::new(
            "a method in small letters",
            other("post /v1/beacons?site=demo HTTP/1.1", 3),
            Refused(405, "method_not_allowed"),
        ),
        Case::new(
            "a made-up method",
            other("BEACON /v1/beacons?site=demo HTTP/1.1", 3),
            Refused(405, "method_not_allowed"),
        ),
        Case::new(
            "TRACE",
            other("TRACE /v1/beacons?site=demo HTTP/1.1", 3),
            Refused(405, "method_not_allowed"),
        ),
        Case::new(
            "GET with a good body",
            other("GET /v1/beacons?site=demo HTTP/1.1", 3),
            Refused(405, "method_not_allowed"),
        ),
        Case::new("PUT", other("PUT /v1/beacons?site=demo HTTP/1.1", 3), Refused(405, "method_not_allowed")),
        Case::new("OPTIONS of everything", other("OPTIONS * HTTP/1.1", 3), Elsewhere(404, "not_found")),
        Case::new(
            "CONNECT to elsewhere",
            other("CONNECT evil.example:443 HTTP/1.1", 3),
            Elsewhere(405, "method_not_allowed"),
        ),
        Case::new(
            "the data by a foreign name",
            "GET /v1/summary HTTP/1.1\r\nhost: evil.example\r\n\r\n",
            Elsewhere(403, "foreign_host"),
        ),
        Case::new(
            "the data by a whole foreign address",
            "GET http://evil.example/v1/summary HTTP/1.1\r\nhost: localhost\r\n\r\n",
            Elsewhere(403, "foreign_host"),
        ),
        Case::new(
            "ingest accounting by a foreign name",
            "GET /v1/accounting HTTP/1.1\r\nhost: evil.example\r\n\r\n",
            Elsewhere(403, "foreign_host"),
        ),
        Case::new(
            "two hosts for a query",
            "GET /v1/accounting HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n",
            Elsewhere(400, "bad_host"),
        ),
        Case::new(
            "a marker that cannot be read",
            "GET /v1/markers/1 HTTP/1.1\r\nhost: localhost\r\n\r\n",
            Elsewhere(405, "method_not_allowed"),
        ),
    ]);
    let two_hosts =
        ["/", "/healthz", "/readyz", "/llm-rum.js", "/snippet", "/snippet.json", "/v1/session", "/nothing"];
    cases.extend(two_hosts.map(|path| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n");
        Case::new(path, request, Elsewhere(400, "bad_host"))
    }));
    target.withstands(&cases);
}

#[test]
fn foreign_origins_are_refused_however_they_are_written() {
    let target = Target::start(&format!(
        "{IMPATIENT}\n[[sites]]\nname = 'shop'\nkeys = ['demo']\norigins = ['https://shop.example', 'https://*.shop.example:8443']\n"
    ));
    let mut cases = Vec::new();
    for origin in [
        "https://evil.example",
        "null",
        "",
        "*",
        "http://shop.example",
        "https://shop.example:443",
        "https://shop.example/",
        "https://shop.example.evil.example",
        "https://evil-shop.example",
        "https://SHOP.example",
        "HTTPS://shop.example",
        "https://shop.example https://evil.example",
        "https://evil.example,https://shop.example",
        "https://a@shop.example",
        "https://shop.example:8443",
        "https://.shop.example:8443",
        "https://a.shop.example",
        "https://evil.example/.shop.example:8443",
        "https://evil.example?.shop.example:8443",
        "https://evil.example#.shop.example:8443",
        "https://evil.example\\.shop.example:8443",
        "file://",
        "chrome-extension://abc",
        "http://127.0.0.1",
        "https://shop.example\t",
    ] {
        let expected =
            if origin == "https://shop.example\t" { Accepted } else { Refused(403, "foreign_origin") };
        cases.push(Case::new(
            format!("origin {origin:?}"),
            beacon(&format!("origin: {origin}\r\n"), good(9)),
            expected,
        ));
    }
    cases.push(Case::new(
        "two origins, the second one good",
        beacon("origin: https://evil.example\r\norigin: https://shop.example\r\n", good(1)),
        Refused(403, "foreign_origin"),
    ));
    cases.push(Case::new("an origin of bytes", [b"POST /v1/beacons?site=demo HTTP/1.1\r\ncontent-type: text/plain\r\ncontent-length: 0\r\norigin: https://\xff\xfe\r\n\r\n".as_slice()].concat(), Refused(403, "foreign_origin")));
    cases.push(Case::new(
        "a page below the domain",
        beacon("origin: https://a.b.shop.example:8443\r\n", good(2)),
        Accepted,
    ));
    target.withstands(&cases);
}

#[test]
fn a_trickling_request_is_aborted() {
    let target = Target::start(IMPATIENT);
    let half = beacon("", good(1));
    let cases = [
        Case::new("silence", "", Below(0)).answered(&[]),
        Case::new("one byte", "P", Below(0)).answered(&[]),
        Case::new("a head that never ends", "POST / HTTP/1.1\r\nhost: ", Below(0)).answered(&[]),
        Case::new("a body of which only a part comes", &half[..half.len() - 1], Refused(408, "body_timeout")),
        Case::new(
            "a body of which nothing comes",
            beacon("content-length: 800\r\n", ""),
            Refused(408, "body_timeout"),
        ),
        Case::new(
            "a chunk that does not come",
            beacon("transfer-encoding: chunked\r\n", "5\r\n"),
            Refused(408, "body_timeout"),
        ),
        Case::new(
            "a packed body that stops",
            beacon("content-encoding: gzip\r\ncontent-length: 800\r\n", b"\x1f\x8b\x08"),
            Refused(408, "body_timeout"),
        ),
        Case::new(
            "a good beacon, and then half a head",
            [beacon("", good(2)), b"POST".to_vec()].concat(),
            Accepted,
        )
        .and_no_more(),
    ];
    target.withstands(&cases);
}

/// The system's buffers take some megabytes; then the server waits, and then it does not.
#[test]
fn a_client_that_reads_no_responses_is_disconnected() {
    let target = Target::start(IMPATIENT);
    let mut connection = Connection::open(target.process.address);
    let many = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(1_000);
    let ended = (0..1_000).find_map(|_| connection.stream.write_all(&many).err());
    let kind = ended.expect("the server ends the connection").kind();
    assert!(matches!(kind, std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe), "{kind}");
    assert!(target.memory().peak < 64 * 1024, "{} KiB", target.memory().peak);
}

#[test]
fn idle_connections_do_not_keep_others_out_for_long() {
    let target = Target::start(&format!("{IMPATIENT}connections = 20\n"));
    let idle: Vec<_> = (0..200).map(|_| Connection::open(target.process.address)).collect();
    target.withstands(&[Case::new("a beacon behind 200 idle connections", beacon("", good(1)), Accepted)]);
    drop(idle);
}

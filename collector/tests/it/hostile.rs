//! Everything that a stranger can send, over raw sockets against the real binary: each case has its
//! documented status and code, all of them together are what the ingest accounting says, nothing of a refused one is
//! stored, and the process's memory is looked at before and after each.

mod accounting;
mod attack;
mod bodies;
mod cgroup;
mod floods;
mod http;
mod ids;
mod memory;
mod reports;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TIMEOUT, stream};
use crate::running::Process;

/// What is sent on one connection, and how it must end.
struct Case {
    name: String,
    bytes: Vec<u8>,
    /// The client says that nothing more comes.
    half_closes: bool,
    /// Answers in order.
    expected: Vec<Expected>,
    /// After these answers the connection ends, and no other answer comes.
    to_the_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// 204, and the report is new.
    Accepted,
    /// 204, and nothing changes: a report that is known, or one in whose place a later one stands.
    Known,
    /// Refused at ingest, with this code, and counted under it.
    Refused(u16, &'static str),
    /// By another route, with this code.
    Elsewhere(u16, &'static str),
    /// By the HTTP layer: no code, not counted.
    Below(u16),
}

/// A collector under attack.
struct Target {
    process: Process,
    folder: TempDir,
}

/// Resident memory of a process in KiB.
struct Memory {
    now: u64,
    peak: u64,
}

impl Case {
    fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>, expected: Expected) -> Self {
        let (name, bytes) = (name.into(), bytes.into());
        Self { name, bytes, half_closes: false, expected: vec![expected], to_the_end: false }
    }

    fn answered(self, expected: &[Expected]) -> Self {
        Self { expected: expected.to_vec(), to_the_end: true, ..self }
    }

    fn half_closed(self) -> Self {
        Self { half_closes: true, ..self }
    }

    fn and_no_more(self) -> Self {
        Self { to_the_end: true, ..self }
    }
}

impl Case {
    /// Refused at ingest, and not by a deadline.
    fn is_refused_at_once(&self) -> bool {
        matches!(self.expected[..], [Expected::Refused(status, _)] if status != 408)
    }
}

impl Target {
    fn start(config: &str) -> Self {
        Self::start_as(config, |command| command)
    }

    /// The same with limits for this machine.
    fn start_distrusting(config: &str) -> Self {
        Self::start_as(config, |mut command| {
            command.env_remove(TRUST_LOOPBACK);
            command
        })
    }

    /// Starts with another command, such as one that does the same in a cgroup.
    fn start_as(config: &str, change: impl FnOnce(Command) -> Command) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("llm-rum.toml"), config).unwrap();
        Self { process: Process::spawn(&mut change(serve(folder.path()))), folder }
    }

    /// Kills it, and starts it again on the same folder.
    fn restart(&mut self) {
        self.process.child.kill().unwrap();
        self.process.child.wait().unwrap();
        self.process = Process::spawn(&mut serve(self.folder.path()));
    }

    /// Sends every case, checks answers and memory, and then the ingest accounting.
    fn withstands(&self, cases: &[Case]) {
        let mut table = format!("{:>9} {:>9} {:>9}  {:<60} answers\n", "before", "peak", "after", "case");
        let mut failed = Vec::new();
        for case in cases {
            let before = self.memory();
            self.forget_peak();
            let answers = self.ask(case);
            let after = self.memory();
            let said: Vec<_> = answers.iter().map(|(status, code)| format!("{status} {code}")).collect();
            let (name, said) = (&case.name, said.join(", "));
            writeln!(table, "{:>9} {:>9} {:>9}  {name:<60} {said}", before.now, after.peak, after.now)
                .unwrap();
            let expected: Vec<_> = case.expected.iter().map(|expected| expected.answer()).collect();
            if !answers.iter().map(|(status, code)| (*status, code.as_str())).eq(expected.iter().copied()) {
                failed.push(format!("{name}: answered {said}, expected {expected:?}"));
            }
            let grown = after.peak.saturating_sub(before.now);
            if grown > MOST_KIB_PER_CASE {
                failed.push(format!("{name}: took {grown} KiB"));
            }
        }
        println!("{table}{} cases", cases.len());
        assert!(failed.is_empty(), "{}", failed.join("\n"));
        let again: Vec<_> = cases.iter().filter(|case| case.is_refused_at_once()).collect();
        let sent_again = again.iter().copied().cycle().take(again.len() * self.rounds_until_level(&again));
        self.books_say(cases.iter().chain(sent_again));
    }

    /// Sends the same again and again until that takes no more memory, and gives back how often: the
    /// allocator takes something for every thread, a leak never ends.
    fn rounds_until_level(&self, cases: &[&Case]) -> usize {
        for window in 1..=MOST_WINDOWS {
            let before = self.memory().now;
            for case in cases.iter().cycle().take(cases.len() * ROUNDS) {
                self.ask(case);
            }
            if self.memory().now.saturating_sub(before) < LEVEL_KIB {
                return window * ROUNDS;
            }
        }
        panic!("the same cases take more memory every time: {} KiB now", self.memory().now);
    }

    fn books_say<'a>(&self, cases: impl Iterator<Item = &'a Case>) {
        let (mut refused, mut kept, mut known) = (BTreeMap::<_, u64>::new(), 0, 0);
        for expected in cases.flat_map(|case| &case.expected) {
            match expected {
                Expected::Accepted => kept += 1,
                Expected::Known => known += 1,
                Expected::Refused(_, code) => *refused.entry(*code).or_default() += 1,
                Expected::Elsewhere(..) | Expected::Below(_) => {}
            }
        }
        let refused = json!(refused);
        let books = self.process.until("/v1/accounting", |books| {
            books["beacons"]["refused"] == refused && books["beacons"]["accepted"] == kept + known
        });
        assert_eq!(books["beacons"]["in_flight"], 0, "{books}");
        assert_eq!(books["reports"]["unaccounted"], 0, "{books}");
        assert_eq!(books["reports"]["by_result"]["new"].as_u64().unwrap_or(0), kept, "{books}");
        let streams = self.process.json("/v1/streams?limit=500")["streams"].as_array().map(Vec::len);
        assert_eq!(streams, Some(kept as usize), "nothing else is stored");
    }

    /// The answers to a case, as status and code; empty where there is no code.
    fn ask(&self, case: &Case) -> Vec<(u16, String)> {
        let mut connection = Connection::open(self.process.address);
        // A server that refuses early need not read the rest.
        let _either = connection.stream.write_all(&case.bytes);
        if case.half_closes {
            let _either = connection.stream.shutdown(Shutdown::Write);
        }
        let mut answers = Vec::new();
        while case.to_the_end || answers.len() < case.expected.len() {
            let Some(answer) = connection.answer() else { break };
            answers.push(answer);
        }
        answers
    }

    fn memory(&self) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.child.id())).unwrap();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        Memory { now: of("VmRSS:"), peak: of("VmHWM:") }
    }

    fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.process.child.id()), "5").unwrap();
    }
}

fn serve(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(folder.join("llm-rum.toml"));
    command.arg("--data").arg(folder.join("data")).env(TRUST_LOOPBACK, "true");
    command
}

impl Expected {
    const fn answer(self) -> (u16, &'static str) {
        match self {
            Self::Accepted | Self::Known => (204, ""),
            Self::Refused(status, code) | Self::Elsewhere(status, code) => (status, code),
            Self::Below(status) => (status, ""),
        }
    }
}

/// A socket on which everything may be written.
struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        Self { stream, unread: Vec::new() }
    }

    /// The next answer. `None` when the connection has ended.
    fn answer(&mut self) -> Option<(u16, String)> {
        let head = loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                break self.unread.drain(..end + 4).collect::<Vec<_>>();
            }
            self.read_more()?;
        };
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let status = head[9..12].parse().unwrap();
        let length = head
            .split("content-length: ")
            .nth(1)
            .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse().unwrap());
        while self.unread.len() < length {
            self.read_more()?;
        }
        let body: Vec<_> = self.unread.drain(..length).collect();
        let code = serde_json::from_slice::<Value>(&body).ok();
        let code = code.and_then(|body| body["error"]["code"].as_str().map(str::to_owned));
        Some((status, code.unwrap_or_default()))
    }

    fn read_more(&mut self) -> Option<()> {
        let mut buffer = [0; 16_384];
        // A reset is an end, too; silence is not.
        let read = self.stream.read(&mut buffer).inspect_err(|error| {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "no answer, and no end");
        });
        let read = read.ok().filter(|read| *read > 0)?;
        self.unread.extend_from_slice(&buffer[..read]);
        Some(())
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// A good body about one stream.
fn good(id: u128) -> String {
    json!({ "reports": [stream(id, 100.0)] }).to_string()
}

/// A beacon as it should be, except for what is given.
fn beacon(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    request("POST /v1/beacons?site=demo HTTP/1.1", headers, body)
}

fn request(line: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let content_type =
        if headers.contains("content-type") { "" } else { "content-type: text/plain;charset=UTF-8\r\n" };
    let length = if headers.contains("content-length") || headers.contains("transfer-encoding") {
        String::new()
    } else {
        format!("content-length: {}\r\n", body.len())
    };
    let head = format!("{line}\r\nhost: localhost\r\n{content_type}{length}{headers}\r\n");
    [head.as_bytes(), body].concat()
}

/// The attacks come from this machine. Limits of networks are tested with clients that a proxy names.
const TRUST_LOOPBACK: &str = "LLM_RUM__INGEST__TRUST_LOOPBACK";
/// Some bodies of the greatest length, and what the allocator takes in advance for each thread.
const MOST_KIB_PER_CASE: u64 = 16 * 1024;
/// What is refused leaves nothing behind: so often the same in a row takes less than this.
const LEVEL_KIB: u64 = 1024;
const MOST_WINDOWS: usize = 12;
const ROUNDS: usize = 6;

/// Deadlines of a second, so that a case that waits for one does not take long.
const IMPATIENT: &str = "[ingest]\nhead_seconds = 1\nbody_seconds = 1\nanswer_seconds = 1\n";

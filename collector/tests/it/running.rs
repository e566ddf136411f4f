//! The real binary, running: started on a free port, asked over real connections, killed when dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use beacon::StreamReport;
use serde_json::{Value, json};

use crate::harness::{TIMEOUT, stream};

/// A running binary, killed when dropped.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder);
        Self::spawn(&mut command)
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self::spawn_logging(command, Stdio::null())
    }

    pub(crate) fn spawn_logging(command: &mut Command, log: impl Into<Stdio>) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("llm-rum listening on http://").unwrap();
        Self { address: address.parse().unwrap(), child }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::new(self.address)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.connect().ask(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).unwrap()
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path).1).unwrap()
    }

    pub(crate) fn until(&self, path: &str, wished: impl Fn(&Value) -> bool) -> Value {
        self.until_within(TIMEOUT, path, wished)
    }

    /// The same for what takes long on a busy machine.
    pub(crate) fn until_within(&self, most: Duration, path: &str, wished: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        while begun.elapsed() < most {
            let asked = Instant::now();
            let answer = self.json(path);
            if wished(&answer) {
                return answer;
            }
            // A slow answer delays what is awaited, so the next question comes as much later.
            thread::sleep(asked.elapsed().max(Duration::from_millis(20)));
        }
        panic!("{path} never answered as wished: {}", self.json(path));
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// An answer with its head.
pub(crate) struct Answered {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answered {
    /// Value of a header, whose name is in small letters.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

/// One connection, kept alive.
pub(crate) struct Client {
    pub(crate) stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn ask(&mut self, request: &str) -> std::io::Result<(u16, String)> {
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.answer()
    }

    pub(crate) fn answer(&mut self) -> std::io::Result<(u16, String)> {
        let Answered { status, body, .. } = self.whole_answer()?;
        Ok((status, body))
    }

    pub(crate) fn whole_answer_to(&mut self, request: &str) -> Answered {
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        self.whole_answer().unwrap()
    }

    pub(crate) fn whole_answer(&mut self) -> std::io::Result<Answered> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let (mut length, mut is_chunked, mut head) = (0, false, String::new());
        while line != "\r\n" {
            line.clear();
            self.stream.read_line(&mut line)?;
            head.push_str(&line);
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            is_chunked |= line.eq_ignore_ascii_case("transfer-encoding: chunked\r\n");
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        while is_chunked {
            let mut size = String::new();
            self.stream.read_line(&mut size)?;
            let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).unwrap() + 2];
            self.stream.read_exact(&mut chunk)?;
            is_chunked = chunk.len() > 2;
            body.extend_from_slice(&chunk[..chunk.len() - 2]);
        }
        Ok(Answered { status, head, body: String::from_utf8_lossy(&body).into_owned() })
    }

    pub(crate) fn report(&mut self, id: u128) -> std::io::Result<(u16, String)> {
        self.reports(&[stream(id, 100.0)])
    }

    pub(crate) fn reports(&mut self, reports: &[StreamReport]) -> std::io::Result<(u16, String)> {
        self.ask(&post(&json!({ "reports": reports }).to_string()))
    }
}

pub(crate) fn post(body: &str) -> String {
    post_to("demo", body)
}

pub(crate) fn post_to(key: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /v1/beacons?site={key} HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

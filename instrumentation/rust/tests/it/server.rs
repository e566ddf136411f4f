//! A server on a port of its own, and a client that reads what TCP brings.

use std::net::SocketAddr;
use std::process::Command;

use axum::Router;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Stopped when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(app: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async { axum::serve(listener, app).await.unwrap() });
        Self { address, task }
    }

    /// Sends a request with these header lines.
    pub(crate) async fn send(&self, headers: &str) -> Client {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!(
            "POST /chat HTTP/1.1\r\nhost: app\r\nte: trailers\r\ncontent-length: 0\r\n{headers}connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        Client { stream, received: Vec::new() }
    }

    /// The body as the program curl prints it.
    pub(crate) async fn curl(&self) -> String {
        let url = format!("http://{}/chat", self.address);
        let mut command = Command::new("curl");
        command.args(["-fsSN", "--max-time", "30", "--request", "POST", &url]);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    /// Reads until the response so far has `text`.
    pub(crate) async fn until(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.received).contains(text) {
            assert_ne!(self.stream.read_buf(&mut self.received).await.unwrap(), 0, "no {text}");
        }
    }

    /// Reads the whole response.
    pub(crate) async fn response(mut self) -> Response {
        self.stream.read_to_end(&mut self.received).await.unwrap();
        let text = String::from_utf8(self.received).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let (body, trailers) = if head.contains("transfer-encoding: chunked") {
            without_chunks(body)
        } else {
            (body.to_owned(), String::new())
        };
        Response { head: head.to_lowercase(), body, trailers }
    }
}

pub(crate) struct Response {
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) trailers: String,
}

/// The content of HTTP chunks, and the lines after the last one.
fn without_chunks(mut rest: &str) -> (String, String) {
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n").expect("the size of a chunk");
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, after.trim_end().to_owned());
        }
        body.push_str(&after[..size]);
        rest = after[size..].strip_prefix("\r\n").expect("the end of a chunk");
    }
}

/// What only browsers send.
pub(crate) const BROWSER: &str = "sec-fetch-site: same-origin\r\n";

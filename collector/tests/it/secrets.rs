//! What nobody may find in a log, however much is logged.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use crate::harness::stream;
use crate::running::{Process, post};

/// Any sixteen bytes of it, which is what dumps show in a line, hold this.
const SIGN: &str = "Zq7Zq7";

fn secret(of: &str) -> String {
    format!("{of}{}", SIGN.repeat(8))
}

/// Answers every request with 200 and nothing, as a ClickHouse and an OTLP endpoint may.
fn endpoint() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut read = [0; 65_536];
                while stream.read(&mut read).is_ok_and(|length| length > 0) {
                    let answered = stream
                        .write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                    if answered.is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

#[test]
fn no_secret_is_in_the_log_whatever_is_to_be_logged() {
    let folder = TempDir::new().unwrap();
    let (url, key) = (endpoint(), format!("pk_{SIGN}{SIGN}"));
    let config = format!(
        "[[tokens]]\nname = 'admin'\ntoken = '{}'\n\
         [[tokens]]\nname = 'scraper'\ntoken = '{}'\nscopes = ['metrics']\n\
         [store.clickhouse]\nurl = '{url}'\npassword = '{}'\npublish_seconds = 1\n\
         [otlp]\nendpoint = '{url}'\nevery_seconds = 1\nheaders = {{ x-api-key = '{}' }}\n\
         [[sites]]\nname = 'shop'\nkeys = ['{key}']\norigins = ['loopback']\n",
        secret("admin"),
        secret("scraper"),
        secret("clickhouse"),
        secret("otlp"),
    );
    let (file, log) = (folder.path().join("llm-rum.toml"), folder.path().join("log"));
    fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    command.arg("--data").arg(folder.path().join("data"));
    // Directives by name, too: they go before any that are more general.
    command.env("RUST_LOG", "trace,ureq=trace,ureq_proto::util=trace,log=trace");
    let mut process = Process::spawn_logging(&mut command, File::create(&log).unwrap());
    let ask = |path: &str, token: &str| {
        let token = secret(token);
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n");
        process.connect().ask(&request).unwrap().0
    };
    assert_eq!(ask("/metrics", "scraper"), 200);
    assert_eq!(ask("/v1/accounting", "nobody"), 401);
    let sign_in = |token: &str| {
        let body = json!({ "token": secret(token) }).to_string();
        let head =
            "POST /v1/session HTTP/1.1\r\nhost: rum\r\norigin: http://rum\r\ncontent-type: application/json";
        let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        process.connect().whole_answer_to(&request)
    };
    let signed_in = sign_in("admin");
    assert_eq!((signed_in.status, sign_in("nobody").status), (200, 401));
    let cookie = signed_in.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let request = format!("GET /v1/session HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\n\r\n");
    assert_eq!(process.connect().ask(&request).unwrap().0, 200);
    // What ClickHouse answers here is no answer to a question.
    assert!([200, 500, 503].contains(&ask("/v1/accounting", "admin")));
    let report = post(&json!({ "reports": [stream(1, 100.0)] }).to_string());
    // Text of a prompt where a name belongs is refused, and an unknown field is left out.
    let with_text = |field: &str| {
        let mut report = serde_json::to_value(stream(2, 100.0)).unwrap();
        report[field] = json!(format!("my {}", secret("prompt")));
        post(&json!({ "reports": [report] }).to_string())
    };
    for (request, key, status) in [
        (&report, key.as_str(), 204),
        (&report, &secret("pk_"), 403),
        (&with_text("model"), &key, 400),
        (&with_text("prompt"), &key, 204),
    ] {
        let request = request.replacen("site=demo", &format!("site={key}"), 1);
        assert_eq!(process.connect().ask(&request).unwrap().0, status);
    }
    // The stop pushes and publishes what there is.
    process.signal("TERM");
    assert!(process.child.wait().unwrap().success());
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("Stopping: SIGTERM") && log.contains("Signed in with the token `admin`"), "{log}");
    assert!(log.contains("Refused requests for data in the last second: wrong_token="), "{log}");
    assert!(!log.contains(cookie.split_once('.').unwrap().1), "a session is as good as its token");
    let told: Vec<_> = log.lines().filter(|line| line.contains(SIGN)).collect();
    assert!(told.is_empty(), "{told:#?}");
}

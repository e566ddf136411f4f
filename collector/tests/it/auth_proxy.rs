//! Readers that a proxy in front has signed in. The proxy itself: `tests/journeys/auth_proxy.rs`.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::running::Process;

const TOKEN: &str = "0123456789abcdef0123";

/// A collector behind a proxy at this address, which is this machine in tests.
fn behind(proxy: &str) -> (Process, TempDir) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("llm-rum.toml");
    let config = format!(
        "[ingest]\nproxies = ['{proxy}']\n[auth_proxy]\nheader = 'X-Forwarded-User'\n\
         [[tokens]]\nname = 'ops'\ntoken = '{TOKEN}'\n"
    );
    fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    command.arg("--data").arg(folder.path().join("data"));
    (Process::spawn(&mut command), folder)
}

fn ask(process: &Process, request: &str, headers: &str) -> (u16, Value) {
    let request = format!("{request} HTTP/1.1\r\nhost: rum.example\r\n{headers}\r\n");
    let (status, body) = process.connect().ask(&request).unwrap();
    (status, serde_json::from_str(&body).unwrap_or_default())
}

#[test]
fn a_user_of_the_proxy_reads_without_a_token() {
    let (process, _folder) = behind("127.0.0.1");
    for more in ["", "authorization: Bearer a-token-of-the-proxy\r\n", "cookie: llm_rum_session=1.x\r\n"] {
        let headers = format!("x-forwarded-user: jane@example.com\r\n{more}");
        let session = json!({ "signed_in_by": "proxy", "name": "jane@example.com" });
        assert_eq!(ask(&process, "GET /v1/session", &headers), (200, session), "{more}");
        assert_eq!(ask(&process, "GET /v1/summary", &headers).0, 200);
        assert_eq!(ask(&process, "GET /metrics", &headers).0, 200);
    }
}

#[test]
fn a_request_without_one_user_needs_a_token() {
    let (process, _folder) = behind("127.0.0.1");
    for headers in [
        "",
        "x-forwarded-user:\r\n",
        "x-forwarded-user:  \r\n",
        "x-forwarded-user: jane\r\nx-forwarded-user: joe\r\n",
        "x-forwarded-users: jane\r\n",
        "x-user: jane\r\n",
    ] {
        let (status, answer) = ask(&process, "GET /v1/summary", headers);
        assert_eq!((status, &answer["error"]["code"]), (401, &json!("unauthorized")), "{headers}");
        let with_token = format!("{headers}authorization: Bearer {TOKEN}\r\n");
        assert_eq!(ask(&process, "GET /v1/summary", &with_token).0, 200, "{headers}");
    }
}

#[test]
fn only_the_proxy_can_name_a_user() {
    let (process, _folder) = behind("192.0.2.1");
    let (status, answer) = ask(&process, "GET /v1/summary", "x-forwarded-user: jane\r\n");
    assert_eq!((status, &answer["error"]["code"]), (401, &json!("unauthorized")));
}

#[test]
fn other_pages_cannot_use_the_proxys_user() {
    let (process, _folder) = behind("127.0.0.1");
    for (origin, status, code) in [
        ("origin: https://evil.example\r\n", 403, "cross_origin"),
        ("", 403, "cross_origin"),
        ("origin: https://rum.example\r\n", 405, "method_not_allowed"),
    ] {
        let headers = format!("x-forwarded-user: jane\r\n{origin}content-length: 0\r\n");
        let (answered, answer) = ask(&process, "POST /v1/summary", &headers);
        assert_eq!((answered, &answer["error"]["code"]), (status, &json!(code)), "{origin}");
    }
}

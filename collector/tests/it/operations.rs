//! `docs/operations.md` and `docs/backup.md` as a new operator follows them: the commands of their text, one after the
//! other, on a machine whose folders lie below another, with a `systemctl` that does what the unit says.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TIMEOUT, stream};
use crate::running::{Client, Process, post};

/// Stands for the machine.
struct Machine {
    root: TempDir,
    address: SocketAddr,
}

impl Machine {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        for folder in ["bin", "usr/local/bin", "etc/systemd/system", "var/lib", "var/backups"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let machine = Self { root, address };
        machine.program("systemctl", SYSTEMCTL);
        // What the text says is built, and who there is, is the machine's own matter.
        machine.program("cargo", r#"[ "$*" = "xtask build" ]"#);
        machine.program("useradd", ":");
        machine.program("chown", ":");
        machine.program("install", r#"exec /usr/bin/install $(echo " $*" | sed "s/ -g llm-rum//")"#);
        machine
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.root.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the commands of a section; its path is that of the root user, and folders are the machine's.
    fn follow(&self, section: &str) {
        let root = self.root.path().display().to_string();
        let commands = commands(section)
            .replace("/usr/local/", &format!("{root}/usr/local/"))
            .replace("/etc/", &format!("{root}/etc/"))
            .replace("/var/", &format!("{root}/var/"))
            .replace("target/release/llm-rum", env!("CARGO_BIN_EXE_llm-rum"))
            .replace("llm-rum healthcheck", &format!("llm-rum healthcheck --url http://{}", self.address));
        let mut shell = self.command("sh");
        let done = shell.args(["-exc", &commands]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{section}: {said}");
    }

    fn command(&self, program: &str) -> Command {
        let root = self.root.path().display();
        let path = format!("{root}/bin:{root}/usr/local/bin:{}", std::env::var("PATH").unwrap());
        let mut command = Command::new(program);
        command.env("PATH", path).env("ROOT", self.root.path()).current_dir(repository());
        // The text's port may be taken.
        command.env("LLM_RUM__LISTEN", self.address.to_string());
        command
    }

    fn report(&self, id: u128) {
        let request = post(&json!({ "reports": [stream(id, 100.0)] }).to_string());
        let request = request.replacen("site=demo", "site=pk_live_change_me", 1);
        assert_eq!(Client::new(self.address).ask(&request).unwrap(), (204, String::new()));
    }

    fn until_streams(&self, count: u64) {
        let config = fs::read_to_string(self.root.path().join("etc/llm-rum/llm-rum.toml")).unwrap();
        let token = config.lines().find_map(|line| line.strip_prefix("token = ")).unwrap().trim_matches('"');
        assert_eq!(token.len(), 48, "the text made one");
        let ask = format!("GET /v1/summary HTTP/1.1\r\nhost: rum\r\nauthorization: Bearer {token}\r\n\r\n");
        let mut answer = Value::Null;
        let asked = Instant::now();
        while asked.elapsed() < TIMEOUT {
            let (status, body) = Client::new(self.address).ask(&ask).unwrap();
            assert_eq!(status, 200, "{body}");
            answer = serde_json::from_str(&body).unwrap();
            if answer["streams"] == count {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("never {count} streams: {answer}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(self.command("systemctl").args(["stop", "llm-rum"]).status());
    }
}

/// Starts what the unit says, returns at once as with `Type=simple`, and stops it by SIGTERM.
const SYSTEMCTL: &str = r#"
stop() {
    [ -e "$ROOT/pid" ] || return 0
    pid=$(cat "$ROOT/pid")
    kill -TERM "$pid"
    # Whoever has no parent to wait for it stays as a zombie.
    while [ -e "/proc/$pid" ] && ! grep -q ') Z ' "/proc/$pid/stat"; do sleep 0.02; done
    rm "$ROOT/pid"
}
start() {
    mkdir -p "$ROOT/var/lib/llm-rum"
    unit="$ROOT/etc/systemd/system/llm-rum.service"
    said() { sed -n "s/^$1=//p" "$unit" | sed "s#/usr/local/#$ROOT&#g; s#/etc/#$ROOT&#g; s#/var/#$ROOT&#g"; }
    $(said ExecStartPre) || exit 1
    $(said ExecStart) >/dev/null 2>&1 &
    echo $! > "$ROOT/pid"
}
case "$*" in
    daemon-reload) ;;
    "enable --now llm-rum" | "start llm-rum") start ;;
    "stop llm-rum") stop ;;
    "restart llm-rum") stop; start ;;
    *) echo "systemctl: $*" >&2; exit 1 ;;
esac"#;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All that stands between ```` ```sh ```` and ```` ``` ```` in a section.
fn commands(section: &str) -> String {
    let page = |name| fs::read_to_string(repository().join("docs").join(name)).unwrap();
    let text = page("operations.md") + &page("backup.md");
    let (_, rest) = text.split_once(&format!("\n## {section}\n")).expect("the text has this section");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    let commands: String = blocks.collect();
    assert!(!commands.is_empty());
    commands
}

#[test]
fn the_operators_text_installs_backs_up_restores_and_upgrades() {
    let machine = Machine::new();
    machine.follow("Install");
    machine.report(1);
    machine.until_streams(1);
    machine.follow("Back up");
    machine.report(2);
    machine.until_streams(2);
    machine.follow("Restore");
    machine.until_streams(1);
    machine.follow("Upgrade");
    machine.report(3);
    machine.until_streams(2);
}

#[test]
fn the_documented_steps_replace_a_site_key_without_loss() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("llm-rum.toml");
    let start = |keys: &str| {
        fs::write(&file, format!("[[sites]]\nname = 'a'\nkeys = [{keys}]\norigins = ['loopback']")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
        Process::spawn(command.arg("--data").arg(folder.path().join("data")))
    };
    let mut id = 0;
    for (keys, old, new) in [("'old'", 204, 403), ("'old', 'new'", 204, 204), ("'new'", 403, 204)] {
        let mut process = start(keys);
        for (key, status) in [("old", old), ("new", new)] {
            id += 1;
            let request = post(&json!({ "reports": [stream(id, 100.0)] }).to_string());
            let request = request.replacen("site=demo", &format!("site={key}"), 1);
            assert_eq!(process.connect().ask(&request).unwrap().0, status, "{key} of {keys}");
        }
        process.signal("TERM");
        assert!(process.child.wait().unwrap().success());
    }
    let process = start("'new'");
    process.until("/v1/summary?site=a", |summary| summary["streams"] == 4);
    let metrics = process.get("/metrics").1;
    assert!(metrics.contains("llm_rum_beacons_total{result=\"unknown_site\"} 2\n"), "{metrics}");
}

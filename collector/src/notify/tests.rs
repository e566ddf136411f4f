//! The outbox and the delivery to real servers on this machine, with virtual time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::*;
use crate::config::severity::Severity;
use crate::slo::alert::GroupState;

const NOON_MS: i64 = 1_795_608_000_000;

/// A request as it arrived.
struct Request {
    head: String,
    body: String,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }
}

/// Answers each request with the next status, then with 200.
fn web_server(statuses: &'static [&'static str]) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/services/T0/SECRETPATH?key=SECRETKEY", listener.local_addr().unwrap());
    let (taken, requests) = channel();
    thread::spawn(move || {
        let mut statuses = statuses.iter();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let request = read_request(&stream);
            let status = statuses.next().unwrap_or(&"200 OK");
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            if taken.send(request).is_err() {
                return;
            }
        }
    });
    (url, requests)
}

fn read_request(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    Request { head, body: String::from_utf8(body).unwrap() }
}

/// Takes one mail, and gives its commands and text.
fn mail_server() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let (taken, mails) = channel();
    thread::spawn(move || take_mail(&listener.accept().unwrap().0, &taken));
    (url, mails)
}

fn take_mail(mut stream: &TcpStream, taken: &Sender<String>) {
    let mut lines = BufReader::new(stream).lines();
    let (mut all, mut is_text) = (String::new(), false);
    stream.write_all(b"220 mail.example\r\n").unwrap();
    while let Some(Ok(line)) = lines.next() {
        all += &format!("{line}\n");
        let answer: &[u8] = match line.split_whitespace().next().unwrap_or_default() {
            "." if is_text => {
                is_text = false;
                taken.send(all.clone()).unwrap();
                b"250 taken\r\n"
            }
            _ if is_text => continue,
            "DATA" => {
                is_text = true;
                b"354 go on\r\n"
            }
            "QUIT" => b"221 bye\r\n",
            _ => b"250 ok\r\n",
        };
        stream.write_all(answer).unwrap();
    }
}

fn config(folder: &Path, receivers: &str) -> Arc<Config> {
    #[derive(serde::Deserialize)]
    struct Receivers {
        notify: Vec<Notify>,
    }
    let Receivers { notify } = toml::from_str(receivers).unwrap();
    let public_url = Some("https://rum.example".to_owned());
    Arc::new(Config { data: folder.to_owned(), notify, public_url, ..Config::default() })
}

/// A notifier after a start.
fn started(config: &Arc<Config>) -> Notifier {
    Notifier::new(config.clone(), Arc::default(), Box::new(FileOutbox::new(&config.data)))
}

fn page() -> GroupStates {
    let alert = Alert {
        severity: Severity::Page,
        rule: "availability",
        minutes: 60,
        bad: 20,
        total: 100,
        burn_rate: Some(40.0),
        limit_ms: None,
    };
    let state = GroupState { alerts: vec![alert], ..GroupState::default() };
    GroupStates::from([(["shop".to_owned(), "chat".to_owned()], state)])
}

/// What the receivers know after they have seen the alerts.
fn observed(config: &Config, states: &ReceiverStates, alerts: &GroupStates, now_ms: i64) -> ReceiverStates {
    let mut states = states.clone();
    for receiver in &config.notify {
        let cause = |_: &[String; 2], _: &Alert| {
            Some("Most frequent failure: timeout (20 of 20 failures)".to_owned())
        };
        states.entry(receiver.id()).or_default().observe(receiver, alerts, now_ms, cause);
    }
    states
}

fn round(notifier: &mut Notifier, alerts: &GroupStates, now_ms: i64) {
    let (_running, stop) = channel();
    let config = notifier.config.clone();
    notifier.round(|states| Ok(observed(&config, states, alerts, now_ms)), now_ms, &stop);
}

fn counted(notifier: &Notifier) -> Vec<(NotificationResult, u64)> {
    let all = notifier.counters.take_notifications();
    all.filter(|(_, _, count)| *count > 0).map(|(_, result, count)| (result, count)).collect()
}

#[test]
fn a_webhook_gets_a_signed_message() {
    let (folder, (url, requests)) = (tempfile::tempdir().unwrap(), web_server(&[]));
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let config =
        config(folder.path(), &format!("[[notify]]\nkind='webhook'\nurl='{url}'\nsecret='{secret}'"));
    let mut notifier = started(&config);
    round(&mut notifier, &page(), NOON_MS);
    let request = requests.recv().unwrap();
    let key = config.notify[0].signing_key().unwrap();
    let id = request.header("webhook-id").unwrap();
    let sent_s = NOON_MS / 1_000;
    assert_eq!(request.header("webhook-timestamp"), Some(sent_s.to_string().as_str()));
    let expected = signature::signature(&key, id, sent_s, &request.body).to_lowercase();
    assert_eq!(request.header("webhook-signature"), Some(expected.as_str()));
    let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["type"], "alert.started");
    assert_eq!(body["data"]["cause"], "Most frequent failure: timeout (20 of 20 failures)");
    assert_eq!(
        body["data"]["url"],
        format!(
            "https://rum.example/?from={}&to={}&site=shop&use_case=chat",
            NOON_MS - 3_600_000,
            NOON_MS + 60_000
        )
    );
    assert_eq!(counted(&notifier), [(NotificationResult::Sent, 1)]);
}

#[test]
fn a_failed_delivery_is_retried_with_the_same_id() {
    let (url, requests) = web_server(&["500 Internal Server Error", "302 Found\r\nlocation: /elsewhere"]);
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), &format!("[[notify]]\nkind='webhook'\nurl='{url}'"));
    let mut notifier = started(&config);
    for seconds in [0, 5, 10, 20, 30, 60] {
        round(&mut notifier, &page(), NOON_MS + seconds * 1_000);
    }
    let requests: Vec<_> = requests.try_iter().collect();
    let ids: Vec<_> = requests.iter().map(|request| request.header("webhook-id").unwrap()).collect();
    assert!(ids.len() == 3 && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert!(requests.iter().all(|request| request.head.starts_with("post /services/t0/")), "no redirect");
    assert_eq!(counted(&notifier), [(NotificationResult::Sent, 1), (NotificationResult::Failed, 2)]);
}

#[test]
fn a_kill_between_queue_and_delivery_loses_nothing() {
    let (folder, (url, requests)) = (tempfile::tempdir().unwrap(), web_server(&[]));
    let config = config(folder.path(), &format!("[[notify]]\nkind='slack'\nurl='{url}'"));
    let mut killed = started(&config);
    assert!(killed.claim().unwrap());
    let states = observed(&config, &killed.states, &page(), NOON_MS);
    killed.store(states);
    drop(killed);
    assert!(requests.try_recv().is_err());
    for seconds in [30, 60] {
        round(&mut started(&config), &page(), NOON_MS + seconds * 1_000);
    }
    let text = requests.recv().unwrap().body;
    assert!(text.contains("[page] shop chat: availability alert started"), "{text}");
    assert!(requests.try_recv().is_err(), "once, over all restarts");
}

#[test]
fn a_message_that_cannot_be_stored_is_not_sent() {
    let (folder, (url, requests)) = (tempfile::tempdir().unwrap(), web_server(&[]));
    let data = folder.path().join("data");
    let config = config(&data, &format!("[[notify]]\nkind='discord'\nurl='{url}'"));
    let mut notifier = started(&config);
    round(&mut notifier, &page(), NOON_MS);
    assert!(requests.try_recv().is_err());
    std::fs::create_dir(&data).unwrap();
    round(&mut notifier, &page(), NOON_MS + 30_000);
    assert!(requests.recv().unwrap().body.contains("allowed_mentions"));
}

#[test]
fn a_mail_has_sender_receiver_subject_and_text() {
    let (folder, (url, mails)) = (tempfile::tempdir().unwrap(), mail_server());
    let receiver = format!(
        "[[notify]]\nkind='email'\nurl='{url}'\nfrom='LLM RUM <rum@shop.example>'\nto=['oncall@shop.example']"
    );
    let mut notifier = started(&config(folder.path(), &receiver));
    round(&mut notifier, &page(), NOON_MS);
    let mail = mails.recv().unwrap();
    for line in [
        "MAIL FROM:<rum@shop.example>",
        "RCPT TO:<oncall@shop.example>",
        "Subject: [page] shop chat: availability alert started",
        "To: oncall@shop.example",
        "Since 2026-11-25 12:00 UTC.",
    ] {
        assert!(mail.contains(line), "{line} is not in {mail}");
    }
    assert_eq!(counted(&notifier), [(NotificationResult::Sent, 1)]);
}

#[test]
fn an_error_never_shows_the_address_of_a_receiver() {
    let (url, _requests) = web_server(&["404 Not Found"]);
    let unreachable = "http://127.0.0.1:1/services/SECRETPATH?key=SECRETKEY";
    for url in [&*url, unreachable, "https://127.0.0.1:1/SECRETPATH", "http://nowhere.invalid/SECRETPATH"] {
        let text = format!("[[notify]]\nkind='slack'\nurl='{url}'");
        let config = config(Path::new("/nowhere"), &text);
        let error = send_test(&config, &config.notify[0]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("SECRET"), "{error:?}");
    }
    let text = "[[notify]]\nkind='email'\nurl='smtp://user:SECRET@127.0.0.1:1'\nfrom='a@b.example'\nto=['c@d.example']";
    let config = config(Path::new("/nowhere"), text);
    let error = send_test(&config, &config.notify[0]).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("SECRET"), "{error:?}");
}

#[test]
fn a_damaged_file_is_kept_and_does_not_silence_alerts() {
    let (folder, (url, requests)) = (tempfile::tempdir().unwrap(), web_server(&[]));
    std::fs::write(folder.path().join("notifications.json"), "{").unwrap();
    let config = config(folder.path(), &format!("[[notify]]\nkind='slack'\nurl='{url}'"));
    round(&mut started(&config), &page(), NOON_MS);
    assert!(requests.recv().unwrap().body.contains("alert started"));
    assert_eq!(std::fs::read(folder.path().join("notifications.json.damaged")).unwrap(), b"{");
}

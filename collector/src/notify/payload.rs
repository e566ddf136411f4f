//! The bodies of messages in the form of each kind of receiver.

use serde_json::{Value, json};

use super::message::{Event, Message};
use crate::config::notify::NotifyKind;
use crate::time::rfc3339;

/// Body of a message over HTTP. `link` leads to the dashboard.
pub(super) fn body(kind: NotifyKind, message: &Message, link: Option<&str>) -> Value {
    match kind {
        NotifyKind::Slack => slack(message, link),
        NotifyKind::Teams => teams(message, link),
        NotifyKind::Discord => discord(message, link),
        NotifyKind::Webhook | NotifyKind::Email => webhook(message, link),
    }
}

/// Text of a mail.
pub(super) fn text(message: &Message, link: Option<&str>) -> String {
    let mut lines = message.sentences();
    lines.extend(link.map(str::to_owned));
    lines.join("\n\n")
}

fn webhook(message: &Message, link: Option<&str>) -> Value {
    let ended = message.event == Event::Ended;
    json!({
        "type": format!("alert.{}", message.event.as_str()),
        "timestamp": rfc3339(message.at_ms),
        "data": {
            "title": message.title(),
            "site": message.site,
            "use_case": message.use_case,
            "subject": message.subject,
            "severity": message.severity,
            "finding": message.finding,
            "cause": message.cause,
            "since_ms": message.since_ms,
            "until_ms": ended.then_some(message.at_ms),
            "url": link,
        },
    })
}

fn slack(message: &Message, link: Option<&str>) -> Value {
    let mut lines = vec![format!("*{}*", slack_escaped(&message.title()))];
    lines.extend(message.sentences().iter().map(|sentence| slack_escaped(sentence)));
    lines.extend(link.map(|link| format!("<{}|Open the dashboard>", slack_escaped(link))));
    json!({ "text": lines.join("\n") })
}

/// The three characters with which Slack begins links, mentions and entities.
fn slack_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn teams(message: &Message, link: Option<&str>) -> Value {
    let title = json!({
        "type": "TextBlock", "size": "Medium", "weight": "Bolder", "wrap": true, "text": escaped(&message.title()),
    });
    let sentences = message.sentences();
    let sentences = sentences
        .iter()
        .map(|sentence| json!({ "type": "TextBlock", "wrap": true, "text": escaped(sentence) }));
    let blocks: Vec<_> = [title].into_iter().chain(sentences).collect();
    let open = |link| json!({ "type": "Action.OpenUrl", "title": "Open the dashboard", "url": link });
    let actions: Vec<_> = link.into_iter().map(open).collect();
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": blocks,
                "actions": actions,
            },
        }],
    })
}

fn discord(message: &Message, link: Option<&str>) -> Value {
    let mut lines = vec![format!("**{}**", escaped(&message.title()))];
    lines.extend(message.sentences().iter().map(|sentence| escaped(sentence)));
    lines.extend(link.map(|link| format!("<{link}>")));
    let text: String = lines.join("\n").chars().take(DISCORD_CHARS).collect();
    // Names of use cases come from pages: none may mention everyone.
    json!({ "content": text, "allowed_mentions": { "parse": [] } })
}

/// Markdown without effect.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        if "\\*_~`|[]()<>#".contains(char) {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

/// Longest message that Discord takes.
const DISCORD_CHARS: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::severity::Severity;

    fn message(event: Event) -> Message {
        Message {
            id: "msg_1".to_owned(),
            event,
            site: "shop".to_owned(),
            use_case: "<!channel> & *chat*".to_owned(),
            subject: "availability".to_owned(),
            severity: Severity::Page,
            finding: "the availability budget burns 20.0 times too fast (20 of 100 streams in 1 h)"
                .to_owned(),
            cause: Some("Most frequent failure: HTTP error (20 of 20 failures)".to_owned()),
            minutes: 60,
            since_ms: 1_795_637_545_000,
            at_ms: 1_795_637_545_000 + 25 * 60_000,
        }
    }

    #[test]
    fn a_message_says_what_where_since_when_and_why() {
        let started = message(Event::Started);
        assert_eq!(started.title(), "[page] shop <!channel> & *chat*: availability alert started");
        assert_eq!(
            started.sentences(),
            [
                "The availability budget burns 20.0 times too fast (20 of 100 streams in 1 h).",
                "Since 2026-11-25 20:12 UTC.",
                "Most frequent failure: HTTP error (20 of 20 failures).",
            ]
        );
        let ended = message(Event::Ended);
        assert_eq!(ended.sentences()[1], "From 2026-11-25 20:12 UTC to 2026-11-25 20:37 UTC.");
    }

    #[test]
    fn the_link_fixes_range_and_filter() {
        assert_eq!(
            message(Event::Started).link("https://rum.example/"),
            "https://rum.example/?from=1795633920000&to=1795639080000&site=shop\
             &use_case=%3C%21channel%3E%20%26%20%2Achat%2A"
        );
    }

    #[test]
    fn a_webhook_gets_every_figure() {
        let body = body(NotifyKind::Webhook, &message(Event::Ended), Some("https://rum.example/"));
        assert_eq!(
            (&body["type"], &body["timestamp"]),
            (&json!("alert.ended"), &json!("2026-11-25T20:37:25Z"))
        );
        let data = &body["data"];
        assert_eq!(
            (&data["site"], &data["severity"], &data["url"]),
            (&json!("shop"), &json!("page"), &json!("https://rum.example/"))
        );
        assert_eq!(data["until_ms"], json!(1_795_639_045_000_i64));
    }

    #[test]
    fn no_name_mentions_anyone_in_a_chat() {
        let message = message(Event::Started);
        let slack = body(NotifyKind::Slack, &message, Some("https://rum.example/?a=1&b=2"));
        let text = slack["text"].as_str().unwrap();
        assert!(
            text.starts_with("*[page] shop &lt;!channel&gt; &amp; *chat*: availability alert started*\n")
        );
        assert!(text.ends_with("<https://rum.example/?a=1&amp;b=2|Open the dashboard>"), "{text}");
        let discord = body(NotifyKind::Discord, &message, None);
        assert_eq!(discord["allowed_mentions"], json!({ "parse": [] }));
        assert!(discord["content"].as_str().unwrap().contains(r"\<!channel\> & \*chat\*"), "{discord}");
    }

    #[test]
    fn teams_gets_an_adaptive_card_with_a_link() {
        let teams = body(NotifyKind::Teams, &message(Event::Started), Some("https://rum.example/"));
        let card = &teams["attachments"][0]["content"];
        assert_eq!(card["body"].as_array().unwrap().len(), 4);
        assert_eq!(card["actions"][0]["url"], "https://rum.example/");
    }

    #[test]
    fn a_name_with_a_line_break_stays_on_its_line() {
        let hostile = Message { use_case: "chat\r\nBcc: a@b.example".to_owned(), ..message(Event::Started) };
        assert_eq!(hostile.title().lines().count(), 1);
    }
}

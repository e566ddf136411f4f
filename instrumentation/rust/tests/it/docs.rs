//! The example of the docs is the one that is run.

use crate::chat;
use crate::server::{BROWSER, Server};

const EXAMPLE: &str = include_str!("../../examples/chat.rs");
const DOCS: &str = include_str!("../../../../docs/server-timing-rust.md");

#[test]
fn the_docs_have_the_example() {
    assert!(DOCS.contains(&format!("```rust,no_run\n{EXAMPLE}```\n")));
}

#[tokio::test]
async fn the_example_sends_comments_to_browsers() {
    let server = Server::start(chat::app()).await;
    let plain = server.send("").await.response().await.body;
    let events: Vec<_> = plain.split_inclusive("\n\n").collect();
    assert_eq!((events.len(), events[2]), (3, "data: [DONE]\n\n"));
    let body = server.send(BROWSER).await.response().await.body;
    let commented: Vec<_> = body.split_inclusive("\n\n").collect();
    assert_eq!(
        commented.iter().copied().filter(|event| !event.starts_with(": llm-rum ")).collect::<Vec<_>>(),
        events
    );
    let [first, _, _, second, end] = commented[..] else { panic!("{commented:?}") };
    assert!(
        first.starts_with(": llm-rum {\"ttft_ms\":") && first.ends_with(",\"queue_ms\":0}\n\n"),
        "{first}"
    );
    assert!(second.starts_with(": llm-rum {\"generation_ms\":"), "{second}");
    assert!(second.ends_with(",\"output_tokens\":2}\n\n"), "{second}");
    assert_eq!(end, "data: [DONE]\n\n");
}

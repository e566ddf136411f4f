//! Bodies in the form of the providers, with text of changing length.

/// OpenAI chat deltas, with the padding that hides the length of a token.
pub(crate) fn chat(events: usize) -> Vec<u8> {
    let event = |(text, padding): (&str, &str)| {
        format!(
            "data: {{\"id\":\"chatcmpl-CbW3nQZb7rY2Lk0fXh1sUeVtPaGmD\",\"object\":\"chat.completion.chunk\",\
             \"created\":1763719200,\"model\":\"gpt-4.1-mini-2025-04-14\",\"service_tier\":\"default\",\
             \"system_fingerprint\":\"fp_4c2851f862\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\
             \"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"{padding}\"}}\n\n"
        )
    };
    words(events).map(event).collect::<String>().into_bytes()
}

/// Anthropic text deltas.
pub(crate) fn anthropic(events: usize) -> Vec<u8> {
    let event = |(text, _): (&str, &str)| {
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
             \"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
        )
    };
    words(events).map(event).collect::<String>().into_bytes()
}

/// Texts as JSON writes them, and paddings, in an order that repeats after 63 events.
fn words(count: usize) -> impl Iterator<Item = (&'static str, &'static str)> {
    (0..count).map(|at| (WORDS[at % WORDS.len()], PADDINGS[at % PADDINGS.len()]))
}

const WORDS: [&str; 9] =
    [" the", " quick", ",", " \\\"brown\\\"", " fox", " jumps over", "\\n\\n", " schön", " responsibility"];
const PADDINGS: [&str; 7] = ["", "k3", "Xa9QpL", "b7Zr", "pLw0Tq8s", "Y", "e2VxN"];

//! What the server is told to do for one request, in the request's own query: status, headers, and
//! steps. `README.md` beside the checks has the grammar.

use anyhow::{Context, Result, bail};
use reqwest::Url;

/// An answer, step by step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    pub(super) status: u16,
    /// Names and values, in order; without those that frame the body.
    pub(super) headers: Vec<(String, String)>,
    /// How long the body claims to be; chunked when absent.
    pub(super) length: Option<u64>,
    pub(super) steps: Vec<Step>,
}

/// One step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Send the head now; otherwise it goes with the first bytes of the body.
    Head,
    /// Send these bytes in one piece.
    Send(Vec<u8>),
    /// Wait until the page says go on.
    Gate,
    /// Wait until the client has closed.
    Hold,
    /// Send an event every 20 ms until the client closes, as a model does.
    Drip,
    /// Push bytes until the client closes, or more than any client holds that is not read.
    Flood,
    /// Close in good order, but before the body's end.
    Cut,
    /// Reset the connection.
    Reset,
}

impl Script {
    /// Reads the query of a request.
    pub(super) fn parse(url: &Url) -> Result<Self> {
        let mut script = Self { status: 200, headers: Vec::new(), length: None, steps: Vec::new() };
        let mut content_type = "text/event-stream".to_owned();
        for (name, value) in url.query_pairs() {
            match name.as_ref() {
                "status" => script.status = value.parse()?,
                "type" => content_type = value.into_owned(),
                "header" => {
                    let (name, value) = value.split_once(':').context("a header is name:value")?;
                    script.headers.push((name.to_owned(), value.to_owned()));
                }
                "length" => script.length = Some(value.parse()?),
                "steps" => script.steps.extend(steps(&value)?),
                other => bail!("no parameter is called {other}"),
            }
        }
        if !content_type.is_empty() {
            script.headers.push(("content-type".to_owned(), content_type));
        }
        Ok(script)
    }

    /// Whether an answer of this status has a body at all.
    pub(super) fn has_body(&self) -> bool {
        !matches!(self.status, 100..=199 | 204 | 205 | 304)
    }
}

/// Steps are separated by spaces; numbered events go on counting.
fn steps(words: &str) -> Result<Vec<Step>> {
    let mut count = 0;
    words.split_ascii_whitespace().map(|word| step(word, &mut count)).collect()
}

fn step(word: &str, events: &mut u32) -> Result<Step> {
    let (name, argument) = word.split_once('=').unwrap_or((word, ""));
    Ok(match name {
        "head" => Step::Head,
        "event" => {
            *events += 1;
            Step::Send(format!("data: {{\"n\":{events}}}\n\n").into_bytes())
        }
        "hex" => Step::Send(bytes(argument).with_context(|| format!("{argument} is not hexadecimal"))?),
        "fill" => {
            let length: usize = argument.parse()?;
            Step::Send((0..length.min(MAX_FILL)).map(|at| b'a' + (at % 26) as u8).collect())
        }
        "gate" => Step::Gate,
        "hold" => Step::Hold,
        "drip" => Step::Drip,
        "flood" => Step::Flood,
        "cut" => Step::Cut,
        "reset" => Step::Reset,
        _ => bail!("no step is called {name}"),
    })
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

const MAX_FILL: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Script> {
        Script::parse(&Url::parse(&format!("http://localhost/play/1?{query}"))?)
    }

    #[test]
    fn a_query_becomes_steps() {
        let script = parse("status=201&header=x-a:b&steps=head+event+gate+event+hex=0a0b+cut").unwrap();
        assert_eq!(script.status, 201);
        assert_eq!(script.headers[0], ("x-a".to_owned(), "b".to_owned()));
        assert_eq!(script.headers[1].1, "text/event-stream");
        let sent = |text: &str| Step::Send(text.as_bytes().to_vec());
        let steps = [
            Step::Head,
            sent("data: {\"n\":1}\n\n"),
            Step::Gate,
            sent("data: {\"n\":2}\n\n"),
            Step::Send(vec![10, 11]),
            Step::Cut,
        ];
        assert_eq!(script.steps, steps);
    }

    #[test]
    fn a_query_with_unknown_steps_is_refused() {
        for query in ["steps=evnt", "steps=hex=0", "step=event", "header=x", "status=ok", "steps=hex=zz"] {
            assert!(parse(query).is_err(), "{query}");
        }
    }
}

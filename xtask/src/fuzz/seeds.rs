//! Recorded streams and their expected reports come in, inputs of the fuzz targets go out, each in the
//! form that its target takes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// One recorded stream.
pub(crate) struct Recorded {
    content_type: String,
    /// As its expected report names it; empty where that names none.
    dialect: String,
    /// Its beginning and its end, if it is long.
    body: Vec<u8>,
}

/// A stream as the inputs of one target.
pub(crate) type Form = fn(&Recorded) -> Vec<Vec<u8>>;

/// A byte that says how to cut it, the content type, and the body.
pub(crate) fn framing(stream: &Recorded) -> Vec<Vec<u8>> {
    let cuts = [0, 6, 128];
    cuts.map(|cut| [&[cut], stream.content_type.as_bytes(), b"\n", &stream.body].concat()).into()
}

/// Two seeds: the body under the name of its dialect, and under `generic`, so that the dialect has to be recognised.
pub(crate) fn dialects(stream: &Recorded) -> Vec<Vec<u8>> {
    let names = [stream.dialect.as_str(), "generic"];
    names.map(|name| [name.as_bytes(), b"\n", &stream.body].concat()).into()
}

/// Headers, the body with 640 ms before each event, and the end.
pub(crate) fn calls(stream: &Recorded) -> Vec<Vec<u8>> {
    let text = stream.body.split_inclusive(|&byte| byte == b'\n');
    let mut calls = vec![2, 0];
    for line in text {
        calls.extend_from_slice(line);
        if line.trim_ascii().is_empty() {
            calls.extend_from_slice(&[0, 40]);
        }
    }
    calls.extend_from_slice(&[3, 0]);
    vec![calls]
}

/// What JSON its lines hold.
pub(crate) fn json(stream: &Recorded) -> Vec<Vec<u8>> {
    let lines = stream.body.split(|&byte| byte == b'\n');
    let values = lines.map(|line| line.strip_prefix(b"data: ").unwrap_or(line).trim_ascii());
    values.filter(|value| matches!(value, [b'{' | b'[' | b'"', ..])).map(Into::into).collect()
}

/// All recorded streams in a folder, each cut to about `longest` bytes.
pub(crate) fn recorded(folder: &Path, longest: usize) -> Result<Vec<Recorded>> {
    let mut streams = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let read = match path.extension().and_then(|kind| kind.to_str()) {
            Some("body") => Ok((String::new(), fs::read(&path)?)),
            Some("jsonl") => timeline(&fs::read_to_string(&path)?),
            _ => continue,
        };
        let (content_type, body) = read.with_context(|| format!("cannot read {}", path.display()))?;
        let expected: Value = serde_json::from_slice(&fs::read(path.with_extension("expected.json"))?)?;
        let dialect = expected["dialect"].as_str().unwrap_or_default().to_owned();
        streams.push(Recorded { content_type, dialect, body: shortened(body, longest) });
    }
    Ok(streams)
}

/// Content type and body of a timeline, which has a JSON row for each read.
fn timeline(rows: &str) -> Result<(String, Vec<u8>)> {
    let (mut content_type, mut body) = (String::new(), Vec::new());
    for row in rows.lines().filter(|row| !row.trim().is_empty()) {
        let row: Value = serde_json::from_str(row)?;
        let headers = row["headers"].as_object().into_iter().flatten();
        for (_, named) in headers.filter(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            named.as_str().unwrap_or_default().clone_into(&mut content_type);
        }
        match (row["text"].as_str(), row["b64"].as_str()) {
            (Some(text), _) => body.extend_from_slice(text.as_bytes()),
            (None, Some(b64)) => body.extend(STANDARD.decode(b64)?),
            (None, None) => {}
        }
    }
    Ok((content_type, body))
}

/// The first events and the last: what lies between is like them.
fn shortened(body: Vec<u8>, longest: usize) -> Vec<u8> {
    if body.len() <= longest {
        return body;
    }
    let (head, tail) = (&body[..longest / 2], &body[body.len() - longest / 2..]);
    let head_end = head.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let blank = tail.windows(2).position(|two| two == b"\n\n").map_or(0, |start| start + 2);
    [&head[..head_end], &tail[blank..]].concat()
}

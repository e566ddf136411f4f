//! Prints the report of a recorded stream as one JSON object: to examine a stream that the probe misread, and to test
//! the probe from outside.

#[path = "replay/recording.rs"]
mod recording;

use std::borrow::Cow;
use std::error::Error;
use std::io::{Read, Write, stdin, stdout};
use std::process::ExitCode;

use probe_core::framing::{Event, Frame, Framing};
use serde::Serialize;
use serde_json::Value;

use recording::{Recorded, Recording};

const HELP: &str = "\
usage: replay [--events] [--chunk N] FILE

Prints the report of a recorded stream as one JSON object.

FILE  a raw response body, or a .jsonl timeline with one row per read; - is standard input.
      A raw body has no times: it is taken as one read that ended cleanly, and the report has
      counts and judgements but no durations.
      Timeline rows: {\"t_ms\":110.363,\"b64\":\"…\"}, t_ms counted from the request, or \"text\"
      in place of b64. The first row may carry \"status\" and \"headers\", the last one
      \"eof\":true or \"end\":\"closed|failed|cancelled|timed_out|page_gone\" (closed if none does).
      Rows without t_ms make a report without durations too.

--events   prints one JSON line per dispatched SSE event instead: event, data, id, and retry
           where one is in force
--chunk N  feeds N bytes at a time, at the time of their read
";

struct Options {
    events: bool,
    chunk: usize,
    file: String,
}

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let Some(options) = Options::parse(arguments) else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", options.file);
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn parse(arguments: Vec<String>) -> Option<Self> {
        let mut options = Self { events: false, chunk: usize::MAX, file: String::new() };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--events" => options.events = true,
                "--chunk" => options.chunk = arguments.next()?.parse().ok().filter(|&bytes| bytes > 0)?,
                _ if argument.starts_with("--") || !options.file.is_empty() => return None,
                _ => options.file = argument,
            }
        }
        (!options.file.is_empty()).then_some(options)
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let bytes = if options.file == "-" {
        let mut bytes = Vec::new();
        stdin().read_to_end(&mut bytes)?;
        bytes
    } else {
        std::fs::read(&options.file)?
    };
    let mut recording = if options.file.ends_with(".jsonl") || is_timeline(&bytes) {
        Recording::timeline(&bytes)?
    } else {
        Recording::body(bytes)
    };
    recording.reads = recording.reads.iter().flat_map(|read| in_chunks_of(options.chunk, read)).collect();
    let mut out = stdout().lock();
    if options.events {
        return print_events(&recording, &mut out);
    }
    serde_json::to_writer(&mut out, &recording.report())?;
    writeln!(out)?;
    Ok(())
}

/// Whether standard input is a timeline rather than a body: its first row has a time.
fn is_timeline(bytes: &[u8]) -> bool {
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice::<Value>(first).is_ok_and(|row| row["t_ms"].is_number())
}

fn in_chunks_of(bytes: usize, read: &Recorded) -> Vec<Recorded> {
    let chunks = read.bytes.chunks(bytes);
    chunks.map(|chunk| Recorded { at_ms: read.at_ms, bytes: chunk.to_vec() }).collect()
}

fn print_events(recording: &Recording, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let content_type = recording.response.as_ref().map_or("", |response| &response.content_type);
    // Unlike a meter, this does not look at the first bytes: the user asks for SSE.
    let mut framing = Framing::named(content_type);
    for read in &recording.reads {
        let mut input = &read.bytes[..];
        while let Some(frame) = framing.next(&mut input) {
            if let Frame::Event(event) = frame {
                serde_json::to_writer(&mut *out, &Line::of(event))?;
                writeln!(out)?;
            }
        }
    }
    Ok(())
}

/// One dispatched event, as `--events` prints it.
#[derive(Serialize)]
struct Line<'a> {
    event: Cow<'a, str>,
    data: Cow<'a, str>,
    id: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<u64>,
}

impl<'a> Line<'a> {
    fn of(event: Event<'a>) -> Self {
        let name = if event.name.is_empty() { b"message" } else { event.name };
        Self {
            event: String::from_utf8_lossy(name),
            data: String::from_utf8_lossy(event.data),
            id: String::from_utf8_lossy(event.id),
            retry: event.retry,
        }
    }
}

//! A request's body within bounds: frames come in, goes out the whole body, unpacked, or the reason
//! why it is refused. Length is bounded after unpacking, time in all, and memory over all bodies that
//! are under way at once.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::HttpBody;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use bytes::{Bytes, BytesMut};
use flate2::write::{GzDecoder, ZlibDecoder};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::config::Ingest;
use crate::connection::Timer;
use crate::error::{ApiError, Reason};

/// A body on its way in, from a connection or from a test.
pub(crate) trait Incoming: HttpBody<Data = Bytes> + Unpin {}

impl<B: HttpBody<Data = Bytes> + Unpin> Incoming for B {}

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    /// The zlib format, as `Content-Encoding: deflate` means.
    Deflate,
}

impl Packing {
    /// By the `Content-Encoding` header. One coding at most: nobody packs twice in good faith.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, ApiError> {
        let mut codings = headers.get_all(CONTENT_ENCODING).iter();
        let Some(coding) = codings.next() else { return Ok(Self::None) };
        let is = |known: &str| coding.as_bytes().eq_ignore_ascii_case(known.as_bytes());
        match codings.next() {
            None if is("gzip") => Ok(Self::Gzip),
            None if is("deflate") => Ok(Self::Deflate),
            _ => Err(ApiError::new(
                Reason::UnsupportedEncoding,
                "a body may be packed once, by gzip or deflate",
            )),
        }
    }
}

/// Memory for bodies under way, shared by all requests.
#[derive(Debug)]
pub(crate) struct Room {
    taken: AtomicUsize,
    most: usize,
}

/// A body's part of the room, given back when dropped.
#[derive(Debug)]
pub(crate) struct Space<'a> {
    room: &'a Room,
    bytes: usize,
}

impl Room {
    pub(crate) const fn new(most: usize) -> Self {
        Self { taken: AtomicUsize::new(0), most }
    }

    const fn space(&self) -> Space<'_> {
        Space { room: self, bytes: 0 }
    }
}

impl Space<'_> {
    /// Takes more, before the memory is used.
    fn grow(&mut self, bytes: usize) -> Result<(), Unread> {
        self.bytes += bytes;
        let taken = self.room.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if taken > self.room.most { Err(Unread::NoRoom) } else { Ok(()) }
    }
}

impl Drop for Space<'_> {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Refuses what announces to be too long, before any of it is read.
pub(crate) fn check_length(headers: &HeaderMap, limits: &Ingest) -> Result<(), ApiError> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    match announced {
        Some(length) if length > limits.body_bytes as u64 => Err(Unread::TooLong.explain(limits)),
        _ => Ok(()),
    }
}

/// Reads a whole body, not longer and not for longer than allowed. The space is the body's as long as
/// its bytes are held.
pub(crate) async fn read<'a>(
    mut body: impl Incoming,
    packing: Packing,
    limits: &Ingest,
    room: &'a Room,
    timer: &Timer,
) -> Result<(Bytes, Space<'a>), ApiError> {
    let mut space = room.space();
    let deadline = Duration::from_secs(limits.body_seconds.into());
    let whole = async {
        match packing {
            Packing::None => read_plain(&mut body, limits.body_bytes, &mut space).await,
            packed => read_packed(&mut body, packed, limits.body_bytes, &mut space).await,
        }
    };
    match timer.within(deadline, whole).await {
        None => Err(Unread::TooSlow.explain(limits)),
        Some(Ok(bytes)) => Ok((bytes, space)),
        Some(Err(unread)) => {
            drop(space);
            discard(&mut body).await;
            Err(unread.explain(limits))
        }
    }
}

/// Closing on a sender who is still sending makes the system reset the connection, and the answer is
/// lost on the way. So the rest is read and dropped, up to a bound.
pub(crate) async fn discard(body: &mut impl Incoming) {
    let drop_all = async {
        let mut seen = 0;
        while let Some(Ok(frame)) = body.frame().await {
            seen += frame.data_ref().map_or(0, Bytes::len);
            if seen > LONGEST_DISCARDED {
                break;
            }
        }
    };
    // Whether it came to its end makes no difference to the answer.
    let _either = timeout(DISCARD_FOR, drop_all).await;
}

async fn read_plain(body: &mut impl Incoming, most: usize, space: &mut Space<'_>) -> Result<Bytes, Unread> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(data) = next(body).await? {
        if first.len() + rest.len() + data.len() > most {
            return Err(Unread::TooLong);
        }
        space.grow(data.len())?;
        // Almost every beacon comes in one piece, which then is not copied.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// Unpacks while it reads: neither the packed body nor more than allowed of the unpacked one is held.
async fn read_packed(
    body: &mut impl Incoming,
    packing: Packing,
    most: usize,
    space: &mut Space<'_>,
) -> Result<Bytes, Unread> {
    space.grow(UNPACKER_BYTES)?;
    let mut unpacker = Unpacker::new(packing, most);
    let mut read = 0;
    while let Some(data) = next(body).await? {
        read += data.len();
        if read > most {
            return Err(Unread::TooLong);
        }
        // What one piece grows to is bounded by `most`, and only one is unpacked at a time per thread.
        let held = unpacker.unpacked().capacity();
        unpacker.push(&data)?;
        space.grow(unpacker.unpacked().capacity() - held)?;
    }
    unpacker.finish()
}

async fn next(body: &mut impl Incoming) -> Result<Option<Bytes>, Unread> {
    // A body of an announced length knows its end: to be told of it would take a turn of the connection.
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        if let Ok(data) = frame.map_err(|_| Unread::Cut)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

enum Unpacker {
    Gzip(GzDecoder<Capped>),
    Deflate(ZlibDecoder<Capped>),
}

impl Unpacker {
    fn new(packing: Packing, most: usize) -> Self {
        let capped = Capped { bytes: Vec::new(), most };
        match packing {
            Packing::Deflate => Self::Deflate(ZlibDecoder::new(capped)),
            Packing::Gzip | Packing::None => Self::Gzip(GzDecoder::new(capped)),
        }
    }

    fn unpacked(&self) -> &Vec<u8> {
        match self {
            Self::Gzip(decoder) => &decoder.get_ref().bytes,
            Self::Deflate(decoder) => &decoder.get_ref().bytes,
        }
    }

    fn push(&mut self, packed: &[u8]) -> Result<(), Unread> {
        let pushed = match self {
            Self::Gzip(decoder) => decoder.write_all(packed),
            Self::Deflate(decoder) => decoder.write_all(packed),
        };
        pushed.map_err(|error| Unread::unpacking(&error))
    }

    /// Checks the sum at the end.
    fn finish(self) -> Result<Bytes, Unread> {
        let finished = match self {
            Self::Gzip(decoder) => decoder.finish(),
            Self::Deflate(decoder) => decoder.finish(),
        };
        Ok(finished.map_err(|error| Unread::unpacking(&error))?.bytes.into())
    }
}

/// Takes so many bytes and no more.
struct Capped {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Capped {
    fn write(&mut self, unpacked: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + unpacked.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(unpacked);
        Ok(unpacked.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Unread {
    Cut,
    TooSlow,
    TooLong,
    NoRoom,
    NotPacked,
}

impl Unread {
    fn unpacking(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::FileTooLarge { Self::TooLong } else { Self::NotPacked }
    }

    fn explain(self, limits: &Ingest) -> ApiError {
        match self {
            Self::Cut => ApiError::new(Reason::BodyCut, "the body ended early"),
            Self::TooSlow => ApiError::new(Reason::BodyTimeout, "the body did not arrive in time"),
            Self::TooLong => {
                let message = format!("a body is at most {} bytes, unpacked too", limits.body_bytes);
                ApiError::new(Reason::BodyTooLarge, message)
            }
            Self::NoRoom => {
                ApiError::new(Reason::Overloaded, "more bodies are under way than there is room for")
            }
            Self::NotPacked => {
                ApiError::new(Reason::BadEncoding, "the body is not what its `Content-Encoding` says")
            }
        }
    }
}

/// Its window and its buffers.
const UNPACKER_BYTES: usize = 96 * 1024;
const LONGEST_DISCARDED: usize = 16 * 1024 * 1024;
const DISCARD_FOR: Duration = Duration::from_secs(2);

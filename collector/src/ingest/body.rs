//! Reads and decompresses a request body within limits: length after decompression, time, and memory over all bodies
//! and per client network.

use std::hash::{BuildHasher, RandomState};
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
use crate::http::client_ip::ClientNetwork;
use crate::http::connection::Timer;
use crate::http::error::{ApiError, Reason};

/// A body on its way in, from a connection or from a test.
pub(crate) trait Incoming: HttpBody<Data = Bytes> + Unpin {}

impl<B: HttpBody<Data = Bytes> + Unpin> Incoming for B {}

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEncoding {
    None,
    Gzip,
    /// The zlib format, as `Content-Encoding: deflate` means.
    Deflate,
}

impl BodyEncoding {
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
                "unsupported `Content-Encoding`: compress the body at most once, with gzip or deflate",
            )),
        }
    }
}

/// Memory for bodies under way, shared by all requests. Each client network may have a part of it.
///
/// What a network has stands in a slot that its keyed hash picks, so that nobody can choose to share somebody
/// else's. Nothing locks, and nothing grows with the networks.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    taken: AtomicUsize,
    most: usize,
    by_network: Box<[AtomicUsize]>,
    most_by_network: usize,
    hasher: RandomState,
}

/// A body's part of the room, given back when dropped.
#[derive(Debug)]
pub(crate) struct BodyReservation<'a> {
    room: &'a BodyMemory,
    /// `None` where the body is of no network.
    by_network: Option<&'a AtomicUsize>,
    bytes: usize,
}

impl BodyMemory {
    pub(crate) fn new(limits: &Ingest) -> Self {
        Self {
            taken: AtomicUsize::new(0),
            most: limits.bodies_bytes,
            by_network: (0..NETWORK_SLOTS).map(|_| AtomicUsize::new(0)).collect(),
            most_by_network: (limits.bodies_bytes / NETWORKS_PER_ROOM).max(limits.body_bytes),
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn space(&self, network: Option<ClientNetwork>) -> BodyReservation<'_> {
        let slot = |network| &self.by_network[self.hasher.hash_one(network) as usize % NETWORK_SLOTS];
        BodyReservation { room: self, by_network: network.map(slot), bytes: 0 }
    }
}

impl BodyReservation<'_> {
    /// Takes what has come.
    fn grow(&mut self, bytes: usize) -> Result<(), Unread> {
        self.bytes += bytes;
        let add = |to: &AtomicUsize| to.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let of_network = self.by_network.map_or(0, add);
        let taken = add(&self.room.taken);
        if taken > self.room.most || of_network > self.room.most_by_network {
            return Err(Unread::NoRoom);
        }
        Ok(())
    }
}

impl Drop for BodyReservation<'_> {
    fn drop(&mut self) {
        for taken in self.by_network.into_iter().chain([&self.room.taken]) {
            taken.fetch_sub(self.bytes, Ordering::Relaxed);
        }
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
    packing: BodyEncoding,
    limits: &Ingest,
    mut space: BodyReservation<'a>,
    timer: &Timer,
) -> Result<(Bytes, BodyReservation<'a>), ApiError> {
    let deadline = Duration::from_secs(limits.body_seconds.into());
    let whole = timer.within(deadline, read_whole(&mut body, limits.body_bytes, &mut space)).await;
    match whole {
        None => Err(Unread::TooSlow.explain(limits)),
        Some(Ok(bytes)) => {
            let unpacked = unpack(bytes, packing, limits.body_bytes);
            Ok((unpacked.map_err(|unread| unread.explain(limits))?, space))
        }
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

async fn read_whole(
    body: &mut impl Incoming,
    most: usize,
    space: &mut BodyReservation<'_>,
) -> Result<Bytes, Unread> {
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

/// Only what is whole is unpacked, and is judged before anything else is waited for: what that takes is
/// bounded by how many threads there are, and nobody can let it stand.
fn unpack(bytes: Bytes, packing: BodyEncoding, most: usize) -> Result<Bytes, Unread> {
    let capped = Capped { bytes: Vec::new(), most };
    let unpacked = match packing {
        BodyEncoding::None => return Ok(bytes),
        BodyEncoding::Gzip => {
            let mut decoder = GzDecoder::new(capped);
            decoder.write_all(&bytes).and_then(|()| decoder.finish())
        }
        BodyEncoding::Deflate => {
            let mut decoder = ZlibDecoder::new(capped);
            decoder.write_all(&bytes).and_then(|()| decoder.finish())
        }
    };
    Ok(unpacked.map_err(|error| Unread::unpacking(&error))?.bytes.into())
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
            Self::Cut => ApiError::new(Reason::BodyCut, "the connection ended before the body was complete"),
            Self::TooSlow => {
                ApiError::new(Reason::BodyTimeout, "the body did not arrive within `ingest.body_seconds`")
            }
            Self::TooLong => {
                let message = format!(
                    "the body is larger than {} bytes, compressed or decompressed",
                    limits.body_bytes
                );
                ApiError::new(Reason::BodyTooLarge, message)
            }
            Self::NoRoom => ApiError::new(
                Reason::Overloaded,
                "too many bodies are being read, in total or from your network; try again",
            ),
            Self::NotPacked => {
                ApiError::new(Reason::BadEncoding, "the body does not match its `Content-Encoding`")
            }
        }
    }
}

/// So many networks with as much as they may have fill the room.
const NETWORKS_PER_ROOM: usize = 8;
const NETWORK_SLOTS: usize = 1 << 12;
const LONGEST_DISCARDED: usize = 16 * 1024 * 1024;
const DISCARD_FOR: Duration = Duration::from_secs(2);

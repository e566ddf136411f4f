//! Reads and decompresses a request body within limits: length after decompression, time, and memory over all bodies
//! and per client network.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use bytes::{Bytes, BytesMut};
use flate2::write::{GzDecoder, ZlibDecoder};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::config::Ingest;
use crate::http::client_ip::ClientNetwork;
use crate::http::error::{ApiError, Reason};
use crate::memory::MemoryBudget;

/// Limits of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    /// As it arrives.
    pub(crate) bytes: usize,
    pub(crate) decompressed_bytes: usize,
    pub(crate) seconds: u32,
}

impl BodyLimits {
    /// Those of a beacon.
    pub(crate) const fn of_beacon(limits: &Ingest) -> Self {
        let Ingest { body_bytes, body_seconds, .. } = *limits;
        Self { bytes: body_bytes, decompressed_bytes: body_bytes, seconds: body_seconds }
    }
}

/// Why a body is refused, and what it cost.
pub(crate) struct RefusedBody {
    pub(crate) error: ApiError,
    /// Bytes that were received or decompressed, whichever is more.
    pub(crate) bytes: usize,
}

impl From<RefusedBody> for ApiError {
    fn from(refused: RefusedBody) -> Self {
        refused.error
    }
}

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEncoding {
    None,
    Gzip,
    /// The zlib format, as `Content-Encoding: deflate` means.
    Deflate,
}

impl BodyEncoding {
    /// Reads the `Content-Encoding` header. At most one coding: no legitimate sender compresses twice.
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

/// Memory for bodies in progress, shared by all requests. Each client network may use a part of it.
///
/// A network's usage is counted in a slot that a keyed hash picks, so that no client can choose to share
/// another network's slot. Counting takes no lock, and the number of slots is fixed.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    taken: AtomicUsize,
    most: usize,
    by_network: Box<[AtomicUsize]>,
    most_by_network: usize,
    /// Of a network, once little is left for others.
    most_when_short: usize,
    hasher: RandomState,
}

/// A body's share of the memory, released when dropped.
#[derive(Debug)]
pub(crate) struct BodyReservation<'a> {
    room: &'a BodyMemory,
    /// `None` if the body belongs to no network.
    by_network: Option<&'a AtomicUsize>,
    bytes: usize,
}

impl BodyMemory {
    pub(crate) fn new(limits: &Ingest, memory: MemoryBudget) -> Self {
        let most = limits.bodies_bytes.min(memory.body_bytes().max(limits.body_bytes));
        Self {
            taken: AtomicUsize::new(0),
            most,
            by_network: (0..NETWORK_SLOTS).map(|_| AtomicUsize::new(0)).collect(),
            most_by_network: (most / NETWORKS_PER_ROOM).max(limits.body_bytes),
            most_when_short: limits.body_bytes,
            hasher: RandomState::new(),
        }
    }

    /// For timings of the backend. Their senders have a token, so they share all of it.
    pub(crate) fn of_server_timings() -> Self {
        Self {
            taken: AtomicUsize::new(0),
            most: SERVER_TIMINGS_BYTES,
            by_network: Box::default(),
            most_by_network: SERVER_TIMINGS_BYTES,
            most_when_short: SERVER_TIMINGS_BYTES,
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn space(&self, network: Option<ClientNetwork>) -> BodyReservation<'_> {
        let slot = |network| &self.by_network[self.hasher.hash_one(network) as usize % NETWORK_SLOTS];
        BodyReservation { room: self, by_network: network.map(slot), bytes: 0 }
    }
}

impl BodyReservation<'_> {
    /// Bytes of the body that have arrived.
    pub(crate) const fn received_bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves memory for received bytes.
    fn grow(&mut self, bytes: usize) -> Result<(), Unread> {
        self.bytes += bytes;
        let add = |to: &AtomicUsize| to.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let of_network = self.by_network.map_or(0, add);
        let taken = add(&self.room.taken);
        let room = self.room;
        // The last eighth is for networks that have no more than one body.
        let is_short = taken > room.most - room.most / NETWORKS_PER_ROOM;
        let most = if is_short { room.most_when_short } else { room.most_by_network };
        if taken > room.most || of_network > most {
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

/// Refuses a body whose announced length is over the limit, before any of it is read.
pub(crate) fn check_length(headers: &HeaderMap, limits: BodyLimits) -> Result<(), ApiError> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    match announced {
        Some(length) if length > limits.bytes as u64 => Err(Unread::TooLong.explain(limits)),
        _ => Ok(()),
    }
}

/// Reads a whole body within the limits for length and time. Keep the reservation as long as the bytes are in
/// memory.
pub(crate) async fn read<'a>(
    mut body: Body,
    packing: BodyEncoding,
    limits: BodyLimits,
    mut space: BodyReservation<'a>,
) -> Result<(Bytes, BodyReservation<'a>), RefusedBody> {
    let deadline = Duration::from_secs(limits.seconds.into());
    let whole = timeout(deadline, read_whole(&mut body, limits.bytes, &mut space)).await;
    let received = space.received_bytes();
    let refuse = |unread: Unread, unpacked: usize| RefusedBody {
        error: unread.explain(limits),
        bytes: received.max(unpacked),
    };
    match whole {
        Err(_elapsed) => Err(refuse(Unread::TooSlow, 0)),
        Ok(Ok(bytes)) => match unpack(bytes, packing, limits.decompressed_bytes) {
            Ok(unpacked) => Ok((unpacked, space)),
            Err((error, unpacked)) => Err(refuse(Unread::unpacking(&error), unpacked)),
        },
        Ok(Err(unread)) => {
            drop(space);
            discard(&mut body).await;
            Err(refuse(unread, 0))
        }
    }
}

/// Reads and drops the rest of a body, up to a bound. If the collector closed the connection while the client
/// still sends, the system would reset it and the client would not get the response.
pub(crate) async fn discard(body: &mut Body) {
    let drop_all = async {
        let mut seen = 0;
        while let Some(Ok(frame)) = body.frame().await {
            seen += frame.data_ref().map_or(0, Bytes::len);
            if seen > LONGEST_DISCARDED {
                break;
            }
        }
    };
    // The response is the same whether or not the rest was read completely.
    let _either = timeout(DISCARD_FOR, drop_all).await;
}

async fn read_whole(body: &mut Body, most: usize, space: &mut BodyReservation<'_>) -> Result<Bytes, Unread> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(data) = next(body).await? {
        if first.len() + rest.len() + data.len() > most {
            return Err(Unread::TooLong);
        }
        space.grow(data.len())?;
        // Almost every beacon arrives in one piece, which is then not copied.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// Decompresses a body once it has arrived completely. No `await` comes between decompression and validation,
/// so the number of threads bounds the memory that this takes, and no client can prolong it by stalling. An error
/// comes with the number of bytes before it.
fn unpack(bytes: Bytes, packing: BodyEncoding, most: usize) -> Result<Bytes, (io::Error, usize)> {
    let mut unpacked = Capped { bytes: Vec::new(), most };
    let done = match packing {
        BodyEncoding::None => return Ok(bytes),
        BodyEncoding::Gzip => {
            let mut decoder = GzDecoder::new(&mut unpacked);
            decoder.write_all(&bytes).and_then(|()| decoder.finish().map(drop))
        }
        BodyEncoding::Deflate => {
            let mut decoder = ZlibDecoder::new(&mut unpacked);
            decoder.write_all(&bytes).and_then(|()| decoder.finish().map(drop))
        }
    };
    match done {
        Ok(()) => Ok(unpacked.bytes.into()),
        Err(error) => Err((error, unpacked.bytes.len())),
    }
}

async fn next(body: &mut Body) -> Result<Option<Bytes>, Unread> {
    // A body of announced length knows its end: awaiting the end would take another poll of the connection.
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        if let Ok(data) = frame.map_err(|_| Unread::Cut)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// A writer that fails beyond `most` bytes.
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

    fn explain(self, limits: BodyLimits) -> ApiError {
        match self {
            Self::Cut => ApiError::new(Reason::BodyCut, "the connection ended before the body was complete"),
            Self::TooSlow => {
                let message = format!("the body did not arrive within {} s", limits.seconds);
                ApiError::new(Reason::BodyTimeout, message)
            }
            Self::TooLong => {
                let BodyLimits { bytes, decompressed_bytes, .. } = limits;
                let message = if bytes == decompressed_bytes {
                    format!("the body is larger than {bytes} bytes, compressed or decompressed")
                } else {
                    format!("the body is larger than {bytes} bytes, or {decompressed_bytes} decompressed")
                };
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

/// Eight of the largest bodies.
const SERVER_TIMINGS_BYTES: usize = 32 * 1024 * 1024;
/// This many networks, each at its own limit, fill the memory.
const NETWORKS_PER_ROOM: usize = 8;
const NETWORK_SLOTS: usize = 1 << 12;
const LONGEST_DISCARDED: usize = 16 * 1024 * 1024;
const DISCARD_FOR: Duration = Duration::from_secs(2);

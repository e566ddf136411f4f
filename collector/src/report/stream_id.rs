//! The id of a stream, and the number by which it is sampled.

/// A stream's id, 128 random bits.
pub(crate) type StreamId = u128;

/// A number below 2^53 that follows from the id alone: samples are drawn by it, on every collector alike.
pub(crate) const fn spread(id: StreamId) -> u64 {
    let folded = (id as u64) ^ ((id >> 64) as u64);
    // Ids are random, but nobody forces senders: Fibonacci hashing spreads whatever they are.
    folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11
}

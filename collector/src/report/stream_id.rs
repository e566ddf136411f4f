//! The id of a stream, and the number by which it is sampled.

/// A stream's id, 128 random bits.
pub(crate) type StreamId = u128;

/// A number below 2^53 that depends on the id alone. Samples are drawn by it, so all collectors choose the
/// same.
pub(crate) const fn spread(id: StreamId) -> u64 {
    let folded = (id as u64) ^ ((id >> 64) as u64);
    // Ids should be random, but senders are not forced to that: Fibonacci hashing spreads any ids.
    folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11
}

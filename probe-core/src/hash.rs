//! FNV-1a: hashes of places, kinds and ids, which are kept in the place of texts.

/// A hash of bytes.
pub(crate) fn hash(text: &[u8]) -> u64 {
    hash_on(0xCBF2_9CE4_8422_2325, text)
}

/// Goes on with a hash: that of two parts is that of the whole.
pub(crate) fn hash_on(start: u64, text: &[u8]) -> u64 {
    text.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

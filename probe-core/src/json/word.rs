//! Keys and tags as hashes. To compare bytes with each word that the dialects know would take kilobytes of code.

/// A key or tag, as a hash of its bytes. Two that differ have the same hash once in 2^24. Then an unknown field is read
/// as a known one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Word(u32);

impl Word {
    pub(crate) const fn of(text: &[u8]) -> Self {
        let (mut hash, mut rest) = (0, text);
        while let Some((eight, more)) = rest.split_first_chunk() {
            hash = Self::mix(hash, u64::from_le_bytes(*eight));
            rest = more;
        }
        let mut last = 0;
        let mut at = 0;
        while at < rest.len() {
            last |= (rest[at] as u64) << (8 * at);
            at += 1;
        }
        Self::end(hash, last, rest.len())
    }

    /// The hashes of several words.
    pub(crate) const fn all<const N: usize>(texts: [&[u8]; N]) -> [Self; N] {
        let mut words = [Self(0); N];
        let mut at = 0;
        while at < N {
            words[at] = Self::of(texts[at]);
            at += 1;
        }
        words
    }

    pub(crate) const fn from_bytes([a, b, c]: [u8; 3]) -> Self {
        Self(u32::from_le_bytes([a, b, c, 0]))
    }

    pub(crate) const fn to_bytes(self) -> [u8; 3] {
        let [a, b, c, _] = self.0.to_le_bytes();
        [a, b, c]
    }

    /// The hash of its bytes.
    pub(crate) fn hash(self) -> u64 {
        self.0.into()
    }

    /// Adds the last bytes, at most seven.
    pub(super) const fn end(hash: u64, last: u64, len: usize) -> Self {
        Self((Self::mix(hash, last | (len as u64) << 56) >> 40) as u32)
    }

    pub(super) const fn mix(hash: u64, eight: u64) -> u64 {
        (hash.rotate_left(23) ^ eight).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

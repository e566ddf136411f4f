//! Bytes inside a JSON text: the plain part of a string, comparison, and short names.

use beacon::NameShape;

use crate::build_variant::IN_PAGE;
use crate::work_counter;

/// The number of bytes before the first that ends or breaks a string.
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    // Most strings are too short for SIMD searches to pay off, and this is as fast in WebAssembly.
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        work_counter::add(1);
        let hits = special_bytes(u64::from_le_bytes(*word));
        if hits != 0 {
            return index * 8 + hits.trailing_zeros() as usize / 8;
        }
    }
    work_counter::add(1);
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    words.len() * 8 + rest.iter().position(ends).unwrap_or(rest.len())
}

/// Whether both are the same bytes. The standard comparison goes byte by byte in WebAssembly. On a CPU with masked
/// loads it takes 130 ns for two empty slices, as one of them points nowhere.
pub(crate) fn same(left: &[u8], right: &[u8]) -> bool {
    if !IN_PAGE {
        work_counter::add(1 + left.len() / 8);
        return left.len() == right.len() && (left.is_empty() || left == right);
    }
    let ((words, rest), (right_words, right_rest)) = (left.as_chunks::<8>(), right.as_chunks::<8>());
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    left.len() == right.len()
        && words.iter().zip(right_words).all(|(left, right)| word(left) == word(right))
        && rest.iter().zip(right_rest).all(|(left, right)| left == right)
}

/// The length of generated text as JSON writes it, without NULs at its end: some servers pad short texts to hide their
/// length.
pub(crate) fn written_bytes(mut text: &[u8]) -> usize {
    while let Some(shorter) = text.strip_suffix(br"\u0000") {
        text = shorter;
    }
    text.len()
}

/// The high bit of each of eight bytes that is a quote, a backslash or a control character. Only the lowest hit is
/// certain: the subtraction may borrow from bytes above it.
pub(super) fn special_bytes(eight: u64) -> u64 {
    let quote = eight ^ (ONES * b'"' as u64);
    let escape = eight ^ (ONES * b'\\' as u64);
    let hits = (quote.wrapping_sub(ONES) & !quote)
        | (escape.wrapping_sub(ONES) & !escape)
        | (eight.wrapping_sub(ONES * 0x20) & !eight);
    hits & HIGHS
}

/// The name that a checked string holds. Empty where it does not have the shape of one. The only escape in a
/// name is `\/`, as PHP writes it.
pub(crate) fn name(raw: &[u8], shape: NameShape) -> String {
    // Both bytes of an escape count here: a longer string cannot hold a name that fits.
    if raw.len() > 2 * shape.max_bytes() {
        return String::new();
    }
    let is_slash = |&(at, &byte): &(usize, &u8)| byte == b'\\' && raw.get(at + 1) == Some(&b'/');
    // No byte of a name is above ASCII: read as Latin-1, other text does not fit.
    let bytes = raw.iter().enumerate().filter(|it| !is_slash(it));
    let text: String = bytes.map(|(_, &byte)| char::from(byte)).collect();
    if shape.fits(text.as_bytes()) { text } else { String::new() }
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

//! Bytes inside a JSON text: the plain part of a string, comparison, and short strings.

use crate::build_variant::IN_PAGE;
use crate::utf8::{self, First};
use crate::work_counter;

/// Longest identifier that is kept, in bytes.
const MAX_NAME_BYTES: usize = 128;

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

/// The text of a checked string, up to the limit and without control characters. It ends before a character that is cut
/// off or is not UTF-8. In a page escapes stay as they are, for JavaScript to read
/// (`probe-wasm/js/watcher/wasm-watcher.js`), and none is cut.
pub(crate) fn unescaped(raw: &[u8]) -> String {
    let (mut name, mut rest) = (String::new(), raw);
    while let Some(First::Char(mut char)) = utf8::take(&mut rest) {
        if char == '\\' && IN_PAGE && raw.len() > MAX_NAME_BYTES {
            break;
        }
        if char == '\\' && !IN_PAGE {
            char = escaped(&mut rest);
        }
        if name.len() + char.len_utf8() > MAX_NAME_BYTES {
            break;
        }
        if char >= ' ' {
            name.push(char);
        }
    }
    name
}

/// Takes the escape after a backslash. Control characters and halves of surrogate pairs become a control character: no
/// name needs either.
fn escaped(rest: &mut &[u8]) -> char {
    let Some((&kind, mut more)) = rest.split_first() else {
        return '\0';
    };
    let mut char = '\0';
    if kind == b'u' {
        let (digits, behind) = more.split_at(more.len().min(4));
        let digit = |hex: &u8| (*hex as char).to_digit(16).unwrap_or(0);
        let code = digits.iter().fold(0, |code, hex| code << 4 | digit(hex));
        (char, more) = (char::from_u32(code).unwrap_or_default(), behind);
    } else if matches!(kind, b'"' | b'\\' | b'/') {
        char = kind.into();
    }
    *rest = more;
    char
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

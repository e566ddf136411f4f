//! Bytes come in, characters go out. The library's own check is made for speed, and 300 bytes of what
//! a page loads; most of what streams bring is ASCII, which is stepped over eight bytes at a time.

use crate::build_variant::IN_PAGE;

/// What bytes begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Char(char),
    /// No character, whatever may follow.
    Broken,
    /// A character of which more bytes must follow.
    Cut,
}

/// Whether all of it is characters.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    if !IN_PAGE && bytes.is_ascii() {
        return true;
    }
    let mut rest = bytes;
    loop {
        // Between two characters of an alphabet beyond ASCII much of an event is ASCII.
        while let Some((eight, more)) = rest.split_first_chunk()
            && u64::from_le_bytes(*eight) & HIGHS == 0
        {
            rest = more;
        }
        let Some(first) = take(&mut rest) else {
            return true;
        };
        if !matches!(first, First::Char(_)) {
            return false;
        }
    }
}

/// Takes a character off the front; of what is none, a byte. `None` when nothing is left.
pub(crate) fn take(rest: &mut &[u8]) -> Option<First> {
    let first = first(rest)?;
    let bytes = if let First::Char(char) = first { char.len_utf8() } else { 1 };
    *rest = rest.get(bytes..)?;
    Some(first)
}

/// `None` of nothing.
pub(crate) fn first(bytes: &[u8]) -> Option<First> {
    let (&lead, rest) = bytes.split_first()?;
    let more = match lead.leading_ones() as usize {
        0 => 0,
        ones @ 2..=4 => ones - 1,
        _ => return Some(First::Broken),
    };
    let mut code = u32::from(lead & (0x7F >> more));
    let mut missing = 0;
    for at in 0..more {
        match rest.get(at) {
            Some(next) if next & 0xC0 == 0x80 => code = code << 6 | u32::from(next & 0x3F),
            Some(_) => return Some(First::Broken),
            None => missing += 6,
        }
    }
    // Whatever is missing, the character will lie in this range.
    let (low, high) = (code << missing, ((code + 1) << missing) - 1);
    let broken = high < FEWEST[more] || low > char::MAX as u32 || (low >= 0xD800 && high < 0xE000);
    Some(match char::from_u32(code) {
        _ if broken => First::Broken,
        Some(char) if missing == 0 => First::Char(char),
        _ => First::Cut,
    })
}

/// The bits that no ASCII byte has.
const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);

/// The first character that takes so many more bytes than one.
const FEWEST: [u32; 4] = [0, 0x80, 0x800, 0x1_0000];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the library says of the same bytes.
    fn theirs(bytes: &[u8]) -> Option<First> {
        let text = match str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.valid_up_to() > 0 => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap(),
            Err(error) if error.error_len().is_none() => return Some(First::Cut),
            Err(_) => return Some(First::Broken),
        };
        text.chars().next().map(First::Char)
    }

    #[test]
    fn every_start_of_a_character_is_what_the_library_says() {
        for bytes in (0..=0xFFFF_u16).map(u16::to_be_bytes) {
            for bytes in [&bytes[..1], &bytes, &[bytes[0], bytes[1], 0x80], &[bytes[0], bytes[1], 0xBF, 0x80]]
            {
                assert_eq!(first(bytes), theirs(bytes), "{bytes:x?}");
            }
        }
        assert_eq!(first(b""), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_utf8_or_not_as_the_library_says(
            text in ".{0,20}",
            bytes in prop::collection::vec(any::<u8>(), 0..4),
        ) {
            let joined = [text.as_bytes(), &bytes].concat();
            prop_assert!(is_utf8(text.as_bytes()));
            prop_assert_eq!(is_utf8(&joined), str::from_utf8(&joined).is_ok());
        }
    }
}

//! Parses the numbers of JSON into doubles.

use crate::absent::ABSENT;
use crate::work_counter;

/// A JSON number: `mantissa × 10^exponent`.
pub(super) struct Decimal {
    mantissa: u64,
    exponent: i32,
    pub(super) negative: bool,
    /// The number of bytes that it took.
    pub(super) len: usize,
}

impl Decimal {
    /// Reads the number at the beginning of `bytes`. Digits after the nineteenth only scale it.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let negative = bytes.first() == Some(&b'-');
        let start = usize::from(negative);
        let mut number = Self { mantissa: 0, exponent: 0, negative, len: start };
        number.digits(bytes, 0);
        let whole = number.len - start;
        if whole == 0 || (whole > 1 && bytes.get(start) == Some(&b'0')) {
            return None;
        }
        if bytes.get(number.len) == Some(&b'.') {
            number.len += 1;
            let point = number.len;
            number.digits(bytes, 1);
            if number.len == point {
                return None;
            }
        }
        if let Some(b'e' | b'E') = bytes.get(number.len) {
            number.exponent(bytes)?;
        }
        Some(number)
    }

    fn digits(&mut self, bytes: &[u8], decimals: i32) {
        while let Some(digit @ b'0'..=b'9') = bytes.get(self.len) {
            self.len += 1;
            work_counter::add(1);
            if self.mantissa < MAX_MANTISSA {
                self.mantissa = self.mantissa * 10 + u64::from(digit - b'0');
                self.exponent -= decimals;
            } else {
                self.exponent += 1 - decimals;
            }
        }
    }

    fn exponent(&mut self, bytes: &[u8]) -> Option<()> {
        self.len += 1;
        let sign = bytes.get(self.len).copied();
        self.len += usize::from(matches!(sign, Some(b'+' | b'-')));
        let start = self.len;
        let mut exponent = 0i32;
        while let Some(digit @ b'0'..=b'9') = bytes.get(self.len) {
            self.len += 1;
            exponent = (exponent * 10 + i32::from(digit - b'0')).min(MAX_WRITTEN);
        }
        let exponent = if sign == Some(b'-') { -exponent } else { exponent };
        self.exponent += exponent;
        (self.len > start).then_some(())
    }

    /// Exact for up to 15 digits and 22 decimals, which is all that servers write. Other numbers are within a few units
    /// of the last place.
    pub(super) fn value(&self) -> f64 {
        let mut value = self.mantissa as f64;
        let mut left = self.exponent.unsigned_abs().min(MAX_EXPONENT);
        while left > 0 {
            let step = left.min(EXACT_DECIMALS);
            let power = (0..step).fold(1.0, |power, _| power * 10.0);
            value = if self.exponent < 0 { value / power } else { value * power };
            left -= step;
        }
        if value.is_finite() { value } else { f64::MAX }
    }
}

/// The number as a count. [`ABSENT`] if it is not whole, or too large for a double to be exact.
pub(crate) fn whole(number: f64) -> f64 {
    if number as u64 as f64 == number && number <= MAX_COUNT { number } else { ABSENT }
}

const MAX_COUNT: f64 = (1u64 << 53) as f64;
/// Room for one more digit in 64 bits.
const MAX_MANTISSA: u64 = 1_000_000_000_000_000_000;
/// More than the digits before or after the point can compensate: an event has room for fewer.
const MAX_WRITTEN: i32 = 1_000_000;
/// Larger than any double's, with all the digits that an event has room for.
const MAX_EXPONENT: u32 = 700;
/// Powers of ten up to this one are doubles.
const EXACT_DECIMALS: u32 = 22;

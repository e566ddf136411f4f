//! The limits of numbers in a report, from `beacon`'s field table. The collector refuses a report with a larger number.
//! In a page, `js/watcher/wasm-watcher.js` leaves such numbers out, which takes less code there.

use beacon::Field;

/// The largest number of each of these fields. `names` has white space between them.
///
/// At compile time: found at run time, they make the page's Wasm 38 B larger (brotli), though it does not use them.
pub(crate) const fn limits<const COUNT: usize>(fields: &[Field], names: &str) -> [f64; COUNT] {
    let mut limits = [0.0; COUNT];
    let mut rest = names.as_bytes();
    let mut at = 0;
    while at < COUNT {
        let mut end = 0;
        while end < rest.len() && rest[end] != b' ' {
            end += 1;
        }
        limits[at] = limit(fields, rest.split_at(end).0);
        rest = rest.split_at(if end < rest.len() { end + 1 } else { end }).1;
        at += 1;
    }
    limits
}

/// The number as an `Option`. `None` if it is absent or above the limit.
pub(crate) fn within(number: f64, limit: f64) -> Option<f64> {
    (number <= limit).then_some(number)
}

/// How many numbers are above their limits.
pub(crate) fn count_above(numbers: &[f64], limits: &[f64]) -> u32 {
    numbers.iter().zip(limits).map(|(number, limit)| u32::from(number > limit)).sum()
}

const fn limit(fields: &[Field], name: &[u8]) -> f64 {
    let mut at = 0;
    while !is_same(fields[at].name.as_bytes(), name) {
        at += 1;
    }
    fields[at].rule.max().expect("the field is a number")
}

const fn is_same(left: &[u8], right: &[u8]) -> bool {
    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    at == left.len() && at == right.len()
}

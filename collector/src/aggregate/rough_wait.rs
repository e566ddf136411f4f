//! Roughly how long a stream waited for its first token, in two bytes: hundreds of thousands of streams are in memory.

use std::ops::RangeInclusive;

use beacon::StreamReport;

/// Tells most streams outside a range of waits without reading their reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoughWait(u16);

impl RoughWait {
    /// Only the report tells it.
    pub(crate) const UNKNOWN: Self = Self(u16::MAX);
    const NO_TOKEN: Self = Self(u16::MAX - 1);

    pub(crate) fn of(report: &StreamReport) -> Self {
        // The upper half of the 32-bit float: its sign, its exponent and 7 bits of the number.
        report.ttft_ms.map_or(Self::NO_TOKEN, |ms| Self(((ms as f32).to_bits() >> 16) as u16))
    }

    /// `false` only if the wait is not in the range.
    pub(crate) fn may_be_in(self, ttft_ms: &RangeInclusive<f64>) -> bool {
        match self {
            Self::UNKNOWN => true,
            Self::NO_TOKEN => false,
            Self(upper_half) => {
                let edge = |half: u32| f64::from(f32::from_bits(half << 16));
                let (from, to) = (edge(u32::from(upper_half)), edge(u32::from(upper_half) + 1));
                // The conversion to 32 bits may have rounded up, to `from` itself.
                from * (1.0 - f64::from(f32::EPSILON)) <= *ttft_ms.end() && to >= *ttft_ms.start()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use beacon::MAX_MS;
    use proptest::prelude::*;

    use super::*;

    fn of(ttft_ms: Option<f64>) -> RoughWait {
        RoughWait::of(&StreamReport { ttft_ms, ..StreamReport::new("0") })
    }

    proptest! {
        #[test]
        fn no_wait_within_the_range_is_left_out(ms in 0.0..=MAX_MS, below in 0.0..=1.0, above in 0.0..=1.0) {
            let range = |below: f64, above: f64| ms * (1.0 - below)..=ms * (1.0 + above);
            prop_assert!(of(Some(ms)).may_be_in(&range(below, above)));
            prop_assert!(of(Some(ms)).may_be_in(&range(0.0, 0.0)));
        }

        #[test]
        fn a_wait_far_outside_is_left_out(ms in 1.0..=MAX_MS) {
            prop_assert!(!of(Some(ms)).may_be_in(&(ms * 1.01..=ms * 2.0)));
            prop_assert!(!of(Some(ms)).may_be_in(&(ms * 0.5..=ms * 0.99)));
        }
    }

    #[test]
    fn a_stream_without_a_token_waited_in_no_range() {
        let every = 0.0..=MAX_MS;
        assert!(!of(None).may_be_in(&every));
        assert!(of(Some(0.0)).may_be_in(&every) && RoughWait::UNKNOWN.may_be_in(&every));
    }
}

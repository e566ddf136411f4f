//! Differences between two measurements of the same thing come in, the size of them at a quantile goes out.

use serde_json::{Value, json};

/// Differences, in milliseconds.
#[derive(Debug, Default)]
pub struct Errors(Vec<f64>);

impl Errors {
    /// Counts one more, to a microsecond: what is told in tenths of a millisecond must not differ by
    /// 0.2000000000000171.
    pub(crate) fn push(&mut self, error_ms: f64) {
        self.0.push((error_ms * 1000.0).round() / 1000.0);
    }

    /// How large the error is at a quantile, whichever its sign. NaN when there is none.
    #[must_use]
    pub fn size(&self, quantile: f64) -> f64 {
        let mut sizes: Vec<_> = self.0.iter().map(|error| error.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let rank = (quantile * sizes.len() as f64).ceil() as usize;
        sizes.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn to_json(&self) -> Value {
        let at = |quantile| self.size(quantile);
        json!({ "n": self.count(), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99) })
    }
}

impl Extend<f64> for Errors {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, errors_ms: I) {
        errors_ms.into_iter().for_each(|error_ms| self.push(error_ms));
    }
}

/// Size at p50, p95 and p99.
impl std::fmt::Display for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|quantile| self.size(quantile));
        write!(f, "{p50:>6.2} {p95:>6.2} {p99:>6.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_rounding_does_not_exceed_two_clock_steps() {
        let mut errors = Errors::default();
        errors.push(178.3 - 178.1);
        errors.extend([178.1 - 178.3]);
        assert!(errors.size(0.99) <= 2.0 * 0.1, "{errors}");
    }
}

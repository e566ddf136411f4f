//! Chance of an overlap between two sets of the same population, as in Fisher's exact test.

/// Logarithms of factorials up to the size of a population.
pub(crate) struct Hypergeometric(Vec<f64>);

impl Hypergeometric {
    /// For populations of at most `most`.
    pub(crate) fn up_to(most: u64) -> Self {
        let mut sum = 0.0;
        let logs = (1..=most).map(|n| {
            sum += (n as f64).ln();
            sum
        });
        Self([0.0].into_iter().chain(logs).collect())
    }

    /// Logarithm of the chance that at least `found` of `drawn` members are marked, if `marked` of `population` are
    /// and the draw is random.
    pub(crate) fn ln_at_least(&self, found: u64, drawn: u64, marked: u64, population: u64) -> f64 {
        let most = drawn.min(marked);
        let least = (drawn + marked).saturating_sub(population);
        if found <= least {
            return 0.0;
        }
        if found > most {
            return f64::NEG_INFINITY;
        }
        let first = self.ln_exactly(found, drawn, marked, population);
        let (mut term, mut sum) = (1.0, 1.0);
        for k in found..most {
            let unmarked_left = population - marked + k + 1 - drawn;
            term *= ((marked - k) * (drawn - k)) as f64 / ((k + 1) * unmarked_left) as f64;
            sum += term;
            // Beyond the mode each term is smaller than the one before, and soon too small for a double.
            if term < sum * f64::EPSILON {
                break;
            }
        }
        (first + sum.ln()).min(0.0)
    }

    fn ln_exactly(&self, found: u64, drawn: u64, marked: u64, population: u64) -> f64 {
        self.ln_choose(marked, found) + self.ln_choose(population - marked, drawn - found)
            - self.ln_choose(population, drawn)
    }

    fn ln_choose(&self, n: u64, k: u64) -> f64 {
        self.0[n as usize] - self.0[k as usize] - self.0[(n - k) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_small_population_is_exact() {
        let chances = Hypergeometric::up_to(24);
        // Fisher's lady tasting tea: all four of four cups right among eight.
        let all_right = chances.ln_at_least(4, 4, 4, 8).exp();
        assert!((all_right - 1.0 / 70.0).abs() < 1e-12, "{all_right}");
        let three_right = chances.ln_at_least(3, 4, 4, 8).exp();
        assert!((three_right - 17.0 / 70.0).abs() < 1e-12, "{three_right}");
        assert_eq!(chances.ln_at_least(0, 4, 4, 8), 0.0);
        assert_eq!(chances.ln_at_least(2, 12, 14, 24), 0.0, "at least two must overlap");
        assert_eq!(chances.ln_at_least(5, 4, 4, 8), f64::NEG_INFINITY);
    }

    #[test]
    fn the_tail_is_the_sum_of_its_terms() {
        let chances = Hypergeometric::up_to(300);
        for (drawn, marked, population) in
            [(40_u64, 30_u64, 300_u64), (120, 200, 300), (1, 1, 300), (299, 150, 300)]
        {
            let (least, most) = ((drawn + marked).saturating_sub(population), drawn.min(marked));
            for found in least..=most {
                let terms = (found..=most).map(|k| chances.ln_exactly(k, drawn, marked, population).exp());
                let (sum, tail) = (terms.sum::<f64>(), chances.ln_at_least(found, drawn, marked, population));
                assert!((sum - tail.exp()).abs() < 1e-9, "{found} of {drawn}: {sum} and {}", tail.exp());
            }
        }
    }
}

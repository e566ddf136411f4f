//! The content of one response before it gets the format of an API: ids, words and token counts, determined
//! by a seed and the request.

use crate::api::Api;
use crate::scenario::{Kind, Scenario};

/// The parts of a response that every API contains, each under its own names.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The API that determines the format.
    pub api: Api,
    /// 24 characters; each API adds its own prefix.
    pub id: String,
    /// The model that the request named.
    pub model: String,
    /// Arrival of the request, in unix seconds.
    pub created: u64,
    /// Size of the prompt as this server estimates it.
    pub input_tokens: u64,
    /// The deltas, including spaces.
    pub words: Vec<String>,
}

/// The parts of a request that the response depends on.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The model that the request names.
    pub model: String,
    /// Size of the body in bytes, from which the prompt's tokens are estimated.
    pub body_bytes: usize,
    /// Arrival of the request, in unix seconds.
    pub created: u64,
}

impl Answer {
    /// The response of `scenario` to a request. The same seed gives the same response.
    pub(crate) fn new(api: Api, scenario: &Scenario, asked: &Asked, rng: &mut Random) -> Self {
        let words: Vec<&str> = scenario.row.text.split_inclusive(' ').collect();
        let deltas = scenario.pace.deltas.unwrap_or(match scenario.row.kind {
            Kind::UserStops => 1_200,
            _ => words.len(),
        });
        Self {
            api,
            id: rng.id(),
            model: asked.model.clone(),
            created: asked.created,
            input_tokens: (asked.body_bytes as u64 / 4).max(1),
            words: words.into_iter().cycle().take(deltas).map(str::to_owned).collect(),
        }
    }

    /// The text of all deltas.
    pub(crate) fn text(&self) -> String {
        self.words.concat()
    }

    /// Number of tokens in the response.
    pub(crate) fn output_tokens(&self) -> u64 {
        self.words.iter().map(|word| u64::from(tokens_in(word))).sum()
    }
}

/// Tokens in one delta. Long words count as several, so that a consumer that counts deltas as tokens is
/// visibly wrong.
pub(crate) fn tokens_in(word: &str) -> u32 {
    1 + (word.len() / 7) as u32
}

/// A small generator of reproducible random numbers (splitmix64), sufficient for a demo.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub(crate) const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// A number from 0 up to but not including 1.
    pub(crate) const fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn id(&mut self) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..24).map(|_| char::from(DIGITS[self.between(0, 61) as usize])).collect()
    }
}

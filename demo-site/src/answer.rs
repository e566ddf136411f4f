//! One request's answer before it is spelled in any API: a seed and the request come in; ids, words and
//! token counts go out.

use crate::api::Api;
use crate::scenario::{Kind, Scenario};

/// What every API tells of an answer, each in its own words.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Which API spells it.
    pub api: Api,
    /// 24 characters; each API puts its own prefix before them.
    pub id: String,
    /// The model that the request named.
    pub model: String,
    /// When the request arrived, in unix seconds.
    pub created: u64,
    /// Size of the prompt, as this server counts.
    pub input_tokens: u64,
    /// The deltas, spaces included.
    pub words: Vec<String>,
}

/// What a request says that an answer needs.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The model that it names.
    pub model: String,
    /// Bytes of its body: the prompt's size is guessed from them.
    pub body_bytes: usize,
    /// When it arrived, in unix seconds.
    pub created: u64,
}

impl Answer {
    /// The answer that `scenario` gives to `asked`: the same for the same seed.
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

    /// The whole text up to a delta.
    pub(crate) fn text(&self) -> String {
        self.words.concat()
    }

    /// How many tokens the whole answer is.
    pub(crate) fn output_tokens(&self) -> u64 {
        self.words.iter().map(|word| u64::from(tokens_in(word))).sum()
    }
}

/// Tokens in one delta: long words are several, so that nobody takes deltas for tokens.
pub(crate) fn tokens_in(word: &str) -> u32 {
    1 + (word.len() / 7) as u32
}

/// A small generator of repeatable numbers (splitmix64): nothing here needs better ones.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(crate) const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number of `low` to `high`, both included.
    pub(crate) const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// A number from 0 to below 1.
    pub(crate) const fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn id(&mut self) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..24).map(|_| char::from(DIGITS[self.between(0, 61) as usize])).collect()
    }
}

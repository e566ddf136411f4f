//! Collects the mistakes of a configuration.

use crate::config::error::Mistake;
use crate::config::rate::Rate;
use crate::config::targets::{OutOfOrder, Targets};

#[derive(Default)]
pub(super) struct Found(pub(super) Vec<Mistake>);

impl Found {
    pub(super) fn add(&mut self, field: impl Into<String>, problem: impl Into<String>, remedy: &str) {
        self.add_beside(field, &[], problem, remedy);
    }

    /// The same for a field that conflicts with others.
    pub(super) fn add_beside(
        &mut self,
        field: impl Into<String>,
        others: &[&str],
        problem: impl Into<String>,
        remedy: &str,
    ) {
        let (field, problem, remedy) = (field.into(), problem.into(), remedy.to_owned());
        let beside = others.iter().copied().map(str::to_owned).collect();
        self.0.push(Mistake { place: None, field, problem, remedy, beside });
    }

    /// Checks the targets that are written for a use case, and compares them with all that apply, defaults
    /// included.
    pub(super) fn targets(&mut self, at: &str, use_case: &str, written: &Targets, all: &Targets) {
        if let Some(field) = written.mistake() {
            let remedy = "write milliseconds greater than 0, or a share of at least 0 and less than 1";
            self.add(format!("{at}.{field}"), "is not a valid target", remedy);
        }
        for OutOfOrder { lower, higher, default_ms } in written.out_of_order(all) {
            let what = match default_ms {
                Some(default_ms) => format!("which is {default_ms} by default"),
                None => "the target of a higher percentile".to_owned(),
            };
            let beside = [format!("{at}.{higher}"), format!("targets.{use_case}.{higher}")];
            self.add_beside(
                format!("{at}.{lower}"),
                &beside.each_ref().map(String::as_str),
                format!("is greater than `{higher}`, {what}"),
                if default_ms.is_some() {
                    "lower it, or set the other target too"
                } else {
                    "lower it, or raise the other target"
                },
            );
        }
    }

    pub(super) fn rate(&mut self, field: &str, rate: Rate) {
        if let Some(problem) = rate.mistake() {
            self.add(field, problem, "write it as `{ per_second = 100, burst = 1000 }`");
        }
    }
}

/// Whether a text can be a name in labels and addresses.
pub(super) fn is_word(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

pub(super) const NO_WORD: &str = "is not valid in a URL";
pub(super) const WORD: &str = "use 1 to 64 of the characters A-Z a-z 0-9 . _ -";

//! Names in a valid configuration that are probably mistyped.

use super::Config;
use super::targets::PROFILES;

impl Config {
    /// A sentence for each name of a use case that differs by a typing error or two from one with default targets.
    pub fn hints(&self) -> Vec<String> {
        let of_sites = self.sites.iter().enumerate().flat_map(|(at, site)| {
            let own = (format!("sites[{at}].use_case"), &site.use_case);
            let targets = site.targets.keys().map(move |name| (format!("sites[{at}].targets"), name));
            targets.chain([own])
        });
        let common = self.targets.keys().map(|name| ("targets".to_owned(), name));
        let hint = |(field, name): (String, &String)| {
            let meant = similar(name)?;
            Some(format!("`{field}`: `{name}` has no default targets; did you mean `{meant}`?"))
        };
        common.chain(of_sites).filter_map(hint).collect()
    }
}

/// The use case with default targets that is most similar. `None` for its exact name, and for other words.
fn similar(name: &str) -> Option<&'static str> {
    let steps = |known: &str| strsim::damerau_levenshtein(&name.to_lowercase(), known);
    let known = PROFILES.into_iter().map(|(known, _)| known).min_by_key(|known| steps(known))?;
    (known != name && steps(known) <= 2).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::targets::Targets;

    #[test]
    fn a_mistyped_use_case_has_a_suggestion() {
        for (name, meant) in
            [("Chat", "chat"), ("chta", "chat"), ("batch-rag", "batch_rag"), ("codng", "coding")]
        {
            assert_eq!(similar(name), Some(meant), "{name}");
        }
        for name in ["chat", "coding", "search", "support", "completion"] {
            assert_eq!(similar(name), None, "{name}");
        }
    }

    #[test]
    fn each_place_of_a_name_has_its_hint() {
        let mut config = Config::default();
        config.sites[0].use_case = "chats".to_owned();
        config.targets.insert("extracton".to_owned(), Targets::default().into());
        assert_eq!(
            config.hints(),
            [
                "`targets`: `extracton` has no default targets; did you mean `extraction`?",
                "`sites[0].use_case`: `chats` has no default targets; did you mean `chat`?",
            ]
        );
    }
}

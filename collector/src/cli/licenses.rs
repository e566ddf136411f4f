//! `llm-rum licenses`: the licence of this program, and the licences of all packages whose code is in it.

use rust_embed::RustEmbed;

/// `cargo xtask build` and `cargo xtask dist` write the file.
#[derive(RustEmbed)]
#[folder = "notices"]
#[allow_missing = true]
struct Notices;

/// All texts, one after the other.
#[must_use]
pub fn licenses() -> String {
    let notices = Notices::get("THIRD-PARTY-NOTICES.txt");
    let notices = notices.map(|file| String::from_utf8_lossy(&file.data).into_owned());
    let notices = notices.as_deref().unwrap_or(WITHOUT_NOTICES);
    let own = [
        include_str!("../../../LICENSE"),
        include_str!("../../../LICENSE-MIT"),
        include_str!("../../../LICENSE-APACHE"),
    ];
    [own.join(RULE), notices.to_owned()].join(RULE)
}

const WITHOUT_NOTICES: &str =
    "This binary was built without the licences of other packages: `cargo xtask build` embeds them.\n";

const RULE: &str = "\n--------------------------------------------------------------------------------\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_both_licences_are_printed() {
        let text = licenses();
        for title in ["llm-rum is licensed under", "MIT License", "Apache License", "packages"] {
            assert!(text.contains(title), "{title}");
        }
    }
}

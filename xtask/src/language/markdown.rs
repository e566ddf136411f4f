//! Rules for Markdown: lines short enough to review, and links that lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::sources::{files, shown};

/// Every line that is too wide, outside of tables, headings and code.
pub(crate) fn wide_lines(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files(root, &["md"])? {
        for (at, line) in prose(&read(&file)?) {
            let width = line.chars().count();
            let is_exempt = line.trim_start().starts_with(['|', '#']) || is_one_link(line);
            if width > WIDEST && !is_exempt {
                found.push(format!("{}:{at}: {width} columns", shown(root, &file)));
            }
        }
    }
    Ok(found)
}

/// Every relative link to a file that is not there, or to a heading that its file does not have.
pub(crate) fn broken_links(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files(root, &["md"])? {
        let text = read(&file)?;
        for (at, line) in prose(&text) {
            for link in links(line) {
                if let Some(reason) = broken(&file, &text, link)? {
                    found.push(format!("{}:{at}: {link}: {reason}", shown(root, &file)));
                }
            }
        }
    }
    Ok(found)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Lines outside of fenced code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    numbered.filter(move |(_, line)| {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                return false;
            }
            _ => {}
        }
        fence.is_none()
    })
}

/// Whether a line has only one address or one link, which cannot be broken, behind the mark of a list.
fn is_one_link(line: &str) -> bool {
    let is_mark = |first: char| first.is_ascii_digit() || " -*+>.!".contains(first);
    let text = line.trim_start_matches(is_mark).trim_end();
    let is_address = text.contains("://") && !text.contains(' ');
    let is_definition = text.split_once("]: ").is_some_and(|(_, address)| !address.contains(' '));
    // A full stop may follow the link.
    let is_last = |after: &str| after.len() <= 1;
    let is_link = text.split_once("](").is_some_and(|(label, rest)| {
        label.matches('[').count() == 1 && rest.split_once(')').is_some_and(|(_, after)| is_last(after))
    });
    is_address || text.starts_with('[') && (is_definition || is_link)
}

/// The targets of a line's links, without those in code.
fn links(line: &str) -> Vec<&str> {
    let is_code = |at: usize| line[..at].matches('`').count() % 2 == 1;
    let starts = line.match_indices("](").filter(|(at, _)| !is_code(*at)).map(|(at, _)| at + 2);
    let definition = line.starts_with('[').then(|| line.find("]: ").map(|at| at + 3)).flatten();
    let target = |start: usize| line[start..].split([')', ' ']).next().unwrap_or_default();
    starts.chain(definition).map(target).collect()
}

/// Why a link in `file` leads nowhere, if it does.
fn broken(file: &Path, text: &str, link: &str) -> Result<Option<&'static str>> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(None);
    }
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let target = file.parent().context("a file is in a folder")?.join(path);
    if !path.is_empty() && !target.exists() {
        return Ok(Some("no such file"));
    }
    let is_text = path.is_empty() || target.extension().is_some_and(|extension| extension == "md");
    let Some(heading) = heading.filter(|_| is_text) else { return Ok(None) };
    let anchors = if path.is_empty() { anchors(text) } else { anchors(&read(&target)?) };
    Ok((!anchors.contains(heading)).then_some("no such heading"))
}

/// What links into a text can name: its headings as GitHub spells them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'));
        if let Some(anchor) = heading.map(anchor) {
            let again = (1..).map(|number| format!("{anchor}-{number}"));
            let free = [anchor.clone()].into_iter().chain(again).find(|anchor| !anchors.contains(anchor));
            anchors.extend(free);
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let mut text = heading.trim().to_lowercase();
    // A link counts with its label.
    while let Some(start) = text.find("](") {
        let end = text[start..].find(')').map_or(text.len(), |length| start + length + 1);
        text.replace_range(start..end, "");
    }
    let kept = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// Columns of a line.
const WIDEST: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_leaves_fenced_code_out() {
        let text = "one\n```sh\n# no heading\n```\ntwo\n  ~~~\n```\n  ~~~\nthree\n";
        assert_eq!(prose(text).collect::<Vec<_>>(), [(1, "one"), (5, "two"), (9, "three")]);
    }

    #[test]
    fn a_line_of_one_link_cannot_be_broken() {
        for line in [
            "https://example.com/a",
            "- <https://example.com/a>",
            "- [a label](https://example.com/a).",
            "![a picture of two words](docs/images/a.png)",
            "[name]: https://example.com/a",
        ] {
            assert!(is_one_link(line), "{line}");
        }
        for line in ["see https://example.com/a", "[a](b) and [c](d)", "words alone", "[a](b) is explained"] {
            assert!(!is_one_link(line), "{line}");
        }
    }

    #[test]
    fn links_are_found_outside_of_code() {
        let line = "[a](b.md#c), `[no](x)`, [`code`](d/e.md \"title\") ![f](g.png)";
        assert_eq!(links(line), ["b.md#c", "d/e.md", "g.png"]);
        assert_eq!(links("[name]: h.md"), ["h.md"]);
    }

    #[test]
    fn anchors_are_spelled_as_github_does() {
        let text = "# Routes, `GET` only\n## Two\n## Two\n### A [link](x.md) to *it*: 95 %\n";
        let expected = ["a-link-to-it-95-", "routes-get-only", "two", "two-1"];
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_broken_link_is_found() {
        let folder = std::env::temp_dir().join(format!("llm-rum-links-{}", std::process::id()));
        fs::create_dir_all(folder.join("docs")).unwrap();
        fs::write(folder.join("docs/other.md"), "# There\n").unwrap();
        let file = folder.join("README.md");
        let broken = |link| broken(&file, "## Here\n", link).unwrap();
        for good in ["docs/other.md", "docs/other.md#there", "docs", "#here", "https://x.example/#y"] {
            assert_eq!(broken(good), None, "{good}");
        }
        assert_eq!(broken("docs/none.md"), Some("no such file"));
        assert_eq!(broken("docs/other.md#here"), Some("no such heading"));
        assert_eq!(broken("#there"), Some("no such heading"));
        fs::remove_dir_all(folder).unwrap();
    }
}

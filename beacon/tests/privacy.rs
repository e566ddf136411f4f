//! `docs/privacy.md` lists what leaves the page: every field of a report and no other.

use std::collections::BTreeSet;

const SOURCE: &str = concat!(include_str!("../src/report.rs"), include_str!("../src/around.rs"));
const PAGE: &str = include_str!("../../docs/privacy.md");

#[test]
fn the_privacy_page_lists_every_field_and_no_other() {
    let sent: BTreeSet<_> = fields("StreamReport", "").into_iter().collect();
    assert!(sent.len() > 50, "the schema is read: {sent:?}");
    assert_eq!(listed(), sent);
}

/// The fields of a struct as JSON has them, those of structs inside it by their path.
fn fields(name: &str, path: &str) -> Vec<String> {
    let (_, rest) = SOURCE.split_once(&format!("pub struct {name} {{")).unwrap();
    let (body, _) = rest.split_once("\n}").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    pub ")?.strip_suffix(','));
    lines
        .flat_map(|line| {
            let (field, kind) = line.split_once(": ").unwrap();
            let kind = kind.trim_start_matches("Option<").trim_end_matches('>');
            let path = format!("{path}{field}");
            let inside = SOURCE.contains(&format!("pub struct {kind} {{"));
            if inside { fields(kind, &format!("{path}.")) } else { vec![path] }
        })
        .collect()
}

/// What stands in the first column of its table.
fn listed() -> BTreeSet<String> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    rows.flat_map(|cell| cell.split('`').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned))
        .collect()
}

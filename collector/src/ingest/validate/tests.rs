//! Counting of unknown fields.

use super::*;

const FULL: &str = include_str!("../../../../beacon/tests/golden/v1-full.json");

#[test]
fn unknown_fields_are_counted_at_any_depth() {
    // Any key may be an attribute: the configuration of the site decides.
    let full = FULL.replace(r#""attributes": { "plan": "pro", "tier": "gold" },"#, "");
    let batch = format!("{{\"reports\":[{full},{full}]}}");
    assert_eq!(parse(&batch).unwrap().1, 0);
    let objects = batch.matches('{').count();
    // `defects` is an object too: an unknown key in it counts as in any other object.
    let unknown = batch.replace('{', r#"{"later":[{"deep":1},2],"#);
    assert_eq!(parse(&unknown).unwrap().1, objects as u64);
}

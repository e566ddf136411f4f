//! Counting of unknown fields.

use super::*;

const FULL: &str = include_str!("../../../../beacon/tests/golden/v1-full.json");

#[test]
fn unknown_fields_are_counted_at_any_depth() {
    let batch = format!("{{\"reports\":[{FULL},{FULL}]}}");
    assert_eq!(parse(&batch).unwrap().1, 0);
    let objects = batch.matches('{').count();
    // `defects` is an object too: an unknown key in it counts as in any other object.
    let unknown = batch.replace('{', r#"{"later":[{"deep":1},2],"#);
    assert_eq!(parse(&unknown).unwrap().1, objects as u64);
}

//! Writes the dashboard's list of dimensions. With `--check` it writes nothing and fails if the file is not up to
//! date. Run by `cargo xtask generate` and `check`.

use std::path::Path;
use std::{env, fs};

use collector::dimension_names;

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/src/api/dimensions.ts");
    let names: Vec<_> = dimension_names().map(|name| format!("\"{name}\"")).collect();
    let text = format!(
        "/** Generated from collector/src/aggregate/dimension.rs by `cargo xtask generate`. */

/** Dimensions that filter and group every query. */
export const DIMENSIONS = [{}] as const;
export type Dimension = (typeof DIMENSIONS)[number];
",
        names.join(", ")
    );
    if env::args().any(|argument| argument == "--check") {
        let is_current = fs::read_to_string(&path).is_ok_and(|old| old == text);
        assert!(is_current, "not up to date, run `cargo xtask generate`: {}", path.display());
    } else {
        fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

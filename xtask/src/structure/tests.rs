//! The rules on trees that are made up for them.

use std::fs;

use super::*;

/// A project of these files, and what its crates and scripts import.
fn imports_of(name: &str, crates: &[&str], files: &[(&str, &str)]) -> Vec<Import> {
    let root = std::env::temp_dir().join(format!("llm-rum-structure-{name}-{}", std::process::id()));
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut imports = javascript::imports(&root).unwrap();
    for main in crates {
        imports.extend(rust::imports(&root, &root.join(main)).unwrap());
    }
    fs::remove_dir_all(root).unwrap();
    imports
}

fn rust(name: &str, files: &[(&str, &str)]) -> Vec<Import> {
    imports_of(name, &["src/lib.rs"], files)
}

#[test]
fn a_cycle_is_named_by_the_lines_that_close_it() {
    let imports = rust(
        "cycle",
        &[
            ("src/lib.rs", "mod first;\nmod second;\nmod third;\n"),
            ("src/first.rs", "\nuse crate::{second::Second, third};\n"),
            ("src/second.rs", "fn call() {\n    super::third::call();\n}\n"),
            ("src/third.rs", "use crate::second::Second as Other;\n"),
        ],
    );
    assert_eq!(
        cycles_of(&imports),
        ["2 files import each other in a cycle:\
        \n    src/second.rs:2: super::third::call\
        \n    src/third.rs:1: use crate::second::Second"]
    );
}

#[test]
fn a_cycle_of_a_module_and_its_child_is_named() {
    let imports = rust(
        "child",
        &[
            ("src/lib.rs", "mod parent;\n"),
            ("src/parent.rs", "mod child;\nuse child::Child;\n"),
            ("src/parent/child.rs", "use super::Parent;\n"),
        ],
    );
    assert_eq!(cycles_of(&imports).len(), 1);
}

#[test]
fn a_cycle_of_scripts_is_named() {
    let imports = imports_of(
        "scripts",
        &[],
        &[
            ("web/a.ts", "import type {\n  B,\n} from \"./b\";\n"),
            ("web/b.ts", "import { c } from \"./c/index.js\";\n"),
            ("web/c/index.js", "export * from \"../a\";\n"),
        ],
    );
    assert_eq!(
        cycles_of(&imports),
        ["3 files import each other in a cycle:\
        \n    web/a.ts:3: } from \"./b\";\
        \n    web/b.ts:1: import { c } from \"./c/index.js\";\
        \n    web/c/index.js:1: export * from \"../a\";"]
    );
}

#[test]
fn a_tree_without_cycles_passes() {
    let imports = rust(
        "clean",
        &[
            ("src/lib.rs", "mod above;\nmod facade;\npub use facade::Below;\npub struct Root;\n"),
            // A name that others pass on leads to the file that defines it.
            ("src/above.rs", "use crate::facade::Below;\nuse crate::Root;\nuse bytes::Bytes;\n"),
            (
                "src/facade.rs",
                "mod below;\nmod user;\npub(crate) use below::Below;\npub(crate) use user::User;\n",
            ),
            (
                "src/facade/below.rs",
                "// use crate::above::Above;\nconst TEXT: &str = \"use crate::above::Above;\";\n",
            ),
            (
                "src/facade/user.rs",
                "use super::Below;\n#[cfg(test)]\nmod tests {\n    use crate::above::Above;\n}\n",
            ),
        ],
    );
    assert_eq!(cycles_of(&imports), [""; 0]);
    let lines: Vec<_> = imports.iter().map(Import::to_string).collect();
    assert_eq!(
        lines,
        [
            "src/above.rs:1: use crate::facade::Below",
            "src/above.rs:2: use crate::Root",
            "src/facade/user.rs:1: use super::Below",
        ]
    );
    assert_eq!(imports[0].to, Path::new("src/facade/below.rs"));
}

#[test]
fn an_upward_import_is_named_with_its_line() {
    let layers = Layers { folder: "src", order: "lib high low" };
    let imports = |low: &'static str| {
        rust(
            "layers",
            &[
                ("src/lib.rs", "mod high;\nmod low;\n"),
                ("src/high.rs", "mod part;\nuse crate::low::Low;\n"),
                ("src/high/part.rs", "use crate::high::High;\nuse crate::low::Low;\n"),
                ("src/low.rs", low),
            ],
        )
    };
    assert_eq!(layers.violations(&imports("pub struct Low;")), [""; 0]);
    assert_eq!(
        layers.violations(&imports("use crate::high::part::Part;")),
        ["src/low.rs:1: use crate::high::part::Part\n    low is below high"]
    );
}

#[test]
fn a_module_outside_every_layer_is_named() {
    let layers = Layers { folder: "src", order: "lib high" };
    let imports = rust(
        "unknown",
        &[
            ("src/lib.rs", "mod high;\nmod low;\n"),
            ("src/high.rs", "use crate::low::Low;\nuse crate::low::Other;\n"),
            ("src/low.rs", ""),
        ],
    );
    assert_eq!(layers.violations(&imports), ["src/low: the order of layers has no place for it"]);
}

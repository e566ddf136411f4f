//! Removes the code that only makes the text of panics and errors from the compiled probe: a panic ends in a trap.
//! The standard library as it is shipped holds about 60 kB of that code.

use std::cmp::Reverse;

use anyhow::{Context, Result};
use rustc_demangle::demangle;
use walrus::{FunctionKind, Import, ImportKind, Module, ModuleConfig, RawCustomSection};

/// Reads a module with the names of its functions.
pub(super) fn parse(wasm: &[u8]) -> Result<Module> {
    ModuleConfig::new().generate_name_section(true).parse(wasm).context("cannot read the compiled probe")
}

/// Replaces the functions that only make messages by the trap that follows them.
pub(super) fn trap_instead_of_panicking(module: &mut Module) -> Result<()> {
    for function in module.funcs.iter_mut().filter(|it| it.name.as_deref().is_some_and(only_makes_messages)) {
        if let FunctionKind::Local(function) = &mut function.kind {
            let mut body = function.builder_mut().func_body();
            body.instrs_mut().clear();
            body.unreachable();
        }
    }
    let asked = |it: &&Import| IMPORTS_FOR_MESSAGES.iter().any(|name| it.name.starts_with(name));
    let imported = |it: &Import| match it.kind {
        ImportKind::Function(function) => Some(function),
        _ => None,
    };
    let functions: Vec<_> = module.imports.iter().filter(asked).filter_map(imported).collect();
    for function in functions {
        module.replace_imported_func(function, |(body, _)| {
            body.unreachable();
        })?;
    }
    Ok(())
}

/// Takes from what the module says of itself that it can hold references to objects, as the compiler lets every
/// module: for glue that keeps objects by numbers, which is less to load than a table of the module's own.
pub(super) fn keep_objects_outside(module: &mut Module) {
    let Some(RawCustomSection { name, mut data }) = module.customs.remove_raw(FEATURES) else { return };
    if let Some(at) = data.windows(REFERENCES.len()).position(|bytes| bytes == REFERENCES) {
        data.drain(at..at + REFERENCES.len());
        // Their number, which stands first.
        data[0] -= 1;
    }
    module.customs.add(RawCustomSection { name, data });
}

fn only_makes_messages(name: &str) -> bool {
    let path = format!("{:#}", demangle(name));
    MESSAGES.iter().chain(&TASKS).any(|part| path.contains(part))
}

/// Gives what the module imports, and its exports that only glue calls, short names, and the same
/// ones in the text of its `glue`: hashes do not compress. Those that no glue calls go.
pub(super) fn shorten_names(module: &mut Module, mut glue: String) -> String {
    let inner = |name: &str| name.starts_with("__") || name.contains("__invoke__");
    let uncalled = module.exports.iter().filter(|it| inner(&it.name) && !glue.contains(&it.name));
    for export in uncalled.map(|export| export.id()).collect::<Vec<_>>() {
        module.exports.delete(export);
    }
    for import in module.imports.iter_mut() {
        IMPORTS_FROM.clone_into(&mut import.module);
    }
    let imports = module.imports.iter_mut().map(|import| &mut import.name);
    let exports = module.exports.iter_mut().map(|export| &mut export.name).filter(|name| inner(name));
    let mut names: Vec<_> = imports.chain(exports).collect();
    // No name may be found inside a longer one, and the same module with more or less in it has the same names.
    names.sort_by_key(|name| (Reverse(name.len()), (*name).clone()));
    for (number, name) in names.into_iter().enumerate() {
        let short = format!("_{number}");
        glue = glue.replace(name.as_str(), &short);
        *name = short;
    }
    glue
}

/// The section with the features that a module uses, and the one in it that is taken out.
const FEATURES: &str = "target_features";
const REFERENCES: &[u8] = b"+\x0freference-types";

/// The module that the probe's imports come from, by `probe-wasm/js/watcher/wasm-watcher.js`.
const IMPORTS_FROM: &str = "g";

/// What serde-wasm-bindgen asks of the page to make an error: nothing that the probe writes by it can fail.
const IMPORTS_FOR_MESSAGES: [&str; 1] = ["__wbg_Error_"];

/// The futures of js-sys, which its closures keep in the module's table: the probe has none.
const TASKS: [&str; 1] = ["js_sys::futures::"];

/// Functions with one of these in their names only make the text of panics and errors.
const MESSAGES: [&str; 8] = [
    "::fmt::",
    "::panicking::",
    "::expect_failed",
    "::unwrap_failed",
    "slice_index_fail",
    "slice_error_fail",
    "len_mismatch_fail",
    "wasm_bindgen::throw_str",
];

//! Removes the code that only makes the text of panics and errors from the compiled probe: a panic ends in a trap.
//! The standard library as it is shipped holds about 60 kB of that code.

use anyhow::{Context, Result};
use rustc_demangle::demangle;
use walrus::{FunctionKind, Module, ModuleConfig, RawCustomSection};

/// Reads a module with the names of its functions.
pub(super) fn parse(wasm: &[u8]) -> Result<Module> {
    ModuleConfig::new().generate_name_section(true).parse(wasm).context("cannot read the compiled probe")
}

/// Replaces the functions that only make messages by the trap that follows them.
pub(super) fn trap_instead_of_panicking(module: &mut Module) {
    for function in module.funcs.iter_mut().filter(|it| it.name.as_deref().is_some_and(only_makes_messages)) {
        if let FunctionKind::Local(function) = &mut function.kind {
            let mut body = function.builder_mut().func_body();
            body.instrs_mut().clear();
            body.unreachable();
        }
    }
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

/// Gives functions that call closures names without a hash: wasm-bindgen exports the timer's by its name, and both
/// modules need the same glue.
pub(super) fn number_closures(module: &mut Module) {
    let calls = |name: &str| format!("{:#}", demangle(name)).contains("convert::closures::_::invoke");
    let closures = module.funcs.iter_mut().filter(|it| it.name.as_deref().is_some_and(calls));
    for (number, closure) in closures.enumerate() {
        closure.name = Some(format!("invoke{number}"));
    }
}

/// Removes those exports of wasm-bindgen's runtime that the bundled glue does not use, and the code behind them: 52 bytes
/// (brotli).
pub(super) fn remove_unused_exports(module: &mut Module, glue: &str) {
    let is_unused = |name: &str| name.starts_with("__") && !glue.contains(name);
    let unused: Vec<_> =
        module.exports.iter().filter(|it| is_unused(&it.name)).map(walrus::Export::id).collect();
    unused.into_iter().for_each(|export| module.exports.delete(export));
    walrus::passes::gc::run(module);
}

fn only_makes_messages(name: &str) -> bool {
    let path = format!("{:#}", demangle(name));
    MESSAGES.iter().chain(&TASKS).any(|part| path.contains(part))
}

/// The section with the features that a module uses, and the one in it that is taken out.
const FEATURES: &str = "target_features";
const REFERENCES: &[u8] = b"+\x0freference-types";

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

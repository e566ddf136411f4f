//! Takes out of the compiled probe what only serves the text of panics and errors, which nobody
//! reads: a panic ends in a trap. A module comes in, less of it goes out.
//!
//! The standard library as it is shipped holds about 60 kB of that code, and 8 kB of its constants.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::{Context, Result};
use rustc_demangle::demangle;
use walrus::ir::{Const, Load, Store, Value, Visitor, dfs_in_order};
use walrus::{ConstExpr, DataKind, FunctionKind, Import, ImportKind, Module, ModuleConfig, RawCustomSection};

/// Every number in code that may be an address.
pub(super) type Addresses = BTreeSet<u64>;

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

/// What the code of `module` refers to.
pub(super) fn addresses(module: &Module) -> Addresses {
    let mut found = Found::default();
    for (_, function) in module.funcs.iter_local() {
        dfs_in_order(&mut found, function, function.entry_block());
    }
    found.0
}

/// Drops the constants that code referred to `before`, and no longer does, neither by itself nor by
/// way of other constants. What was never seen to be referred to stays. Each constant must be a
/// segment of its own; in the end all are one.
///
/// A number in code counts as a reference to the constant that it lies in, whatever the number is
/// for. What that cannot see is a constant that optimised code names by numbers outside of it alone,
/// as it might a table with an index below zero. `probe-wasm/test/watcher/wasm-watcher.test.js` therefore holds
/// what is left to every recorded stream.
pub(super) fn drop_unused_constants(module: &mut Module, before: &Addresses) -> Result<()> {
    let after = addresses(module);
    let segments = module.data.iter().map(Segment::of).collect::<Result<Vec<_>>>()?;
    let told =
        |segment: &Segment| segment.is_among(before) || segments.iter().any(|from| from.names(segment));
    let (mut kept, mut rest): (Vec<_>, Vec<_>) =
        segments.iter().partition(|segment| segment.is_among(&after) || !told(segment));
    let mut next = 0;
    while let Some(&from) = kept.get(next) {
        let (named, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|segment| from.names(segment));
        kept.extend(named);
        rest = others;
        next += 1;
    }
    join(module, &kept)
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

/// One segment with all of `kept` where they were.
fn join(module: &mut Module, kept: &[&Segment]) -> Result<()> {
    let start = kept.iter().map(|segment| segment.at.start).min().context("the probe has constants")?;
    let end = kept.iter().map(|segment| segment.at.end).max().unwrap_or(start);
    let mut bytes = vec![0; (end - start) as usize];
    for segment in kept {
        bytes[(segment.at.start - start) as usize..][..segment.bytes.len()].copy_from_slice(&segment.bytes);
    }
    let memory = module.memories.iter().next().context("the probe has a memory")?.id();
    for id in module.data.iter().map(|data| data.id()).collect::<Vec<_>>() {
        module.data.delete(id);
    }
    let offset = ConstExpr::Value(Value::I32(start as i32));
    module.data.add(DataKind::Active { memory, offset }, bytes);
    Ok(())
}

struct Segment {
    at: Range<u64>,
    bytes: Vec<u8>,
}

impl Segment {
    fn of(data: &walrus::Data) -> Result<Self> {
        let DataKind::Active { offset: ConstExpr::Value(Value::I32(start)), .. } = data.kind else {
            anyhow::bail!("a segment of the compiled probe has no fixed place");
        };
        let start = u64::from(start as u32);
        Ok(Self { at: start..start + data.value.len() as u64, bytes: data.value.clone() })
    }

    fn is_among(&self, addresses: &Addresses) -> bool {
        addresses.range(self.at.clone()).next().is_some()
    }

    /// Whether some pointer in it may lead to `other`.
    fn names(&self, other: &Self) -> bool {
        let aligned = self.at.start.next_multiple_of(4) - self.at.start;
        let words = self.bytes.get(aligned as usize..).unwrap_or_default().as_chunks::<4>().0;
        words.iter().any(|word| other.at.contains(&u64::from(u32::from_le_bytes(*word))))
    }
}

#[derive(Default)]
struct Found(Addresses);

impl<'a> Visitor<'a> for Found {
    fn visit_const(&mut self, constant: &Const) {
        if let Value::I32(value) = constant.value {
            self.0.insert(u64::from(value as u32));
        }
    }

    fn visit_load(&mut self, load: &Load) {
        self.0.insert(load.arg.offset);
    }

    fn visit_store(&mut self, store: &Store) {
        self.0.insert(store.arg.offset);
    }
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

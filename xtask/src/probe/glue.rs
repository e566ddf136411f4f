//! Bundles the JavaScript that wasm-bindgen writes, as it is, into the function `createGlue`. A page may have several
//! modules: each call of the function has its own state.

use walrus::Module;

/// The script that makes an instance of the module. It names what the module imports, so that esbuild drops the rest of
/// wasm-bindgen's output. The other exports take and return numbers, and need no wrapper.
pub(super) fn entry(module: &Module) -> String {
    let mut imports: Vec<_> = module.imports.iter().map(|import| import.name.as_str()).collect();
    // Both modules import the same, in another order.
    imports.sort_unstable();
    let imports = imports.join(", ");
    format!(
        "import {{ {imports}, __wbg_set_wasm, begin, chunk, context, report }} from './glue_bg.js';
const {{ exports }} = new WebAssembly.Instance(compiled, [[{imports}]]);
__wbg_set_wasm(exports);
watcher = {{ ...exports, begin, chunk, context, report }};
"
    )
}

/// Names each import by its place in the list of [`entry`]. wasm-bindgen's names end in hashes, which do not compress:
/// without them script and module are 280 bytes smaller (brotli).
pub(super) fn number_imports(module: &mut Module) {
    let mut imports: Vec<_> = module.imports.iter_mut().collect();
    imports.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    for (number, import) in imports.into_iter().enumerate() {
        import.module = "0".to_owned();
        import.name = number.to_string();
    }
}

/// The function around the bundle. Its parameters are the compiled module, and two functions of the page that the Wasm
/// calls.
pub(super) const HEAD: &str = "export function createGlue(compiled, wake, setTimeout) { let watcher;";
pub(super) const FOOT: &str = "return watcher; }";

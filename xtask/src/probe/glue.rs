//! The JavaScript that wasm-bindgen writes fits any module and any caller. Its text comes in; what
//! this module and its one caller, `probe-wasm/js/watcher/wasm-watcher.js`, need of it goes out.

/// The glue as a module of one export, `glued`. It hands what the Wasm asks for, as `asked` tells, to the
/// function `made`, which owes it the Wasm's exports; what comes back is those, and in the place of some
/// those whose arguments need work. `wake` is the one function of the facade that the Wasm asks for, and
/// `setTimeout` the page's, as the facade knows it. A page may have several modules, each with a memory of its own.
///
/// Where wasm-bindgen writes a helper in another way than [`OURS`] expects, it stays as written.
pub(super) fn trim(text: &str, asked: impl Fn(&str) -> bool) -> String {
    let (mut imports, mut calls, mut rest) = (String::new(), String::new(), String::new());
    for item in items(&without_idle_work(&unguarded(text))) {
        match item.strip_prefix("export function ") {
            Some(function) if function.starts_with("__wbg_set_wasm") => {}
            Some(function) if function.starts_with(IMPORT) => {
                if function.split_once('(').is_some_and(|(name, _)| asked(name)) {
                    imports += &format!("{},\n", directly(&with_closure(function)));
                }
            }
            Some(function) if handed_on(function).is_some_and(|(call, to)| to == format!("wasm.{call}")) => {}
            Some(function) => calls += &format!("{},\n", with_bytes(function)),
            None => rest += &format!("{}\n", ours(item)),
        }
    }
    format!(
        "export const glued = (made, wake, setTimeout) => {{\n{rest}wasm = made({{\n{imports}}});\n\
         return {{\n...wasm,\n{calls}}};\n}};\n"
    )
}

/// The one closure is a timer's: Rust drops it, once and never while it runs.
fn with_closure(function: &str) -> String {
    let made = function.split_once("makeMutClosure(arg0, arg1, ");
    let Some((before, (call, after))) = made.and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
    else {
        return function.to_owned();
    };
    format!(
        "{before}Object.assign(() => wasm.{call}(arg0, arg1), \
         {{ _wbg_cb_unref: () => wasm.__wbindgen_destroy_closure(arg0, arg1) }}){after}"
    )
}

/// Functions, constants and statements of the top level, without comments.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let inside = |line: &&str| line.starts_with([' ', '}', ')']);
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.split_inclusive('\n').next()?;
        let more = rest[first.len()..].split_inclusive('\n').take_while(|line| inside(line) || *line == "\n");
        let (item, after) = rest.split_at(first.len() + more.map(str::len).sum::<usize>());
        rest = after;
        Some(item.trim_end())
    })
    .filter(|item| !item.is_empty() && !item.starts_with(['/', ' ', '*']))
}

/// Without catching what the page's own functions throw: it ends in the facade, which turns the
/// probe off, as after a panic.
fn unguarded(text: &str) -> String {
    let mut plain = String::new();
    for line in text.lines() {
        match line.split_once("() { return handleError(function ") {
            Some((name, parameters)) => plain += &format!("{name}{parameters}"),
            None if line == "}, arguments); }" => plain.push('}'),
            None => plain += line,
        }
        plain.push('\n');
    }
    plain.replace(", wasm.__wbindgen_realloc)", ")")
}

/// Without arithmetic that changes nothing below 2 GiB, which the probe never comes near, and without the
/// constants that it never hands over.
fn without_idle_work(text: &str) -> String {
    let text = IDLE.iter().fold(text.to_owned(), |text, idle| text.replace(idle, ""));
    unnamed(&text.replace("getObject(arg0)", "heap[arg0]").replace(" = +", " = "))
}

/// With what a function returns where it is returned, and not under a name before.
fn unnamed(text: &str) -> String {
    let mut parts = text.split("    const ret = ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let returned =
            part.split_once(";\n    return ").and_then(|(ret, rest)| Some((ret, rest.split_once(";\n")?)));
        plain += &match returned {
            Some((ret, (value, rest))) => format!("    return {};\n{rest}", value.replace("ret", ret)),
            None => format!("    const ret = {part}"),
        };
    }
    plain
}

/// Of what crosses, the bytes of a chunk alone have a length. A view of the memory is made in less time than a
/// chunk takes to be read: no need to keep it.
fn with_bytes(function: &str) -> String {
    let function = function.replace("WASM_VECTOR_LEN", "bytes.length").replace(
        "passArray8ToWasm0(bytes, wasm.__wbindgen_malloc);",
        "wasm.__wbindgen_malloc(bytes.length, 1);
    new Uint8Array(wasm.memory.buffer).set(bytes, ptr0);",
    );
    without_other_names(&function)
}

/// With an argument, or the length of one, under no name beside its own.
fn without_other_names(function: &str) -> String {
    let plain = |own: &str| own.chars().all(|letter| letter.is_alphanumeric() || letter == '.');
    let mut text = function.to_owned();
    for line in function.lines() {
        let named =
            line.trim().strip_prefix("const ").and_then(|rest| rest.strip_suffix(';')?.split_once(" = "));
        if let Some((other, own)) = named.filter(|(_, own)| plain(own)) {
            text = text.replace(&format!("{line}\n"), "").replace(other, own);
        }
    }
    text
}

/// Of a function that gives its arguments to another, and does nothing else: how it is called, and how the other.
/// Then that can be called itself.
fn handed_on(function: &str) -> Option<(&str, &str)> {
    let (call, body) = function.split_once(" {\n")?;
    let body = body.trim_end_matches('}').trim();
    let body = if body.starts_with("//") { body.split_once('\n')?.1.trim() } else { body };
    Some((call, body.strip_prefix("return ").unwrap_or(body).strip_suffix(';')?))
}

/// What the Wasm asks for as the function that it is handed on to. A method would lose its object.
fn directly(function: &str) -> String {
    let same = handed_on(function).and_then(|(call, to)| {
        let (name, arguments) = call.split_once('(')?;
        Some((name, to.strip_suffix(arguments)?.strip_suffix('(')?))
    });
    match same.filter(|(_, to)| !to.contains('.')) {
        Some((name, to)) => format!("{name}: {to}"),
        None => function.to_owned(),
    }
}

/// The helper as [`OURS`] has it, or as it is.
fn ours(item: &str) -> &str {
    OURS.iter().find(|(theirs, _)| item.starts_with(theirs)).map_or(item, |(_, ours)| ours)
}

/// What does nothing here. Of the constants that objects begin with the probe hands over `undefined` alone,
/// which is what is not there.
const IDLE: [&str; 6] =
    [" >>> 0", " / 1", " * 1", " + 4 * 0", "    ptr = ptr;\n", "heap.push(undefined, null, true, false);\n"];

/// What the names of imports begin with.
const IMPORT: &str = "__wb";

/// Beginnings of wasm-bindgen's helpers, and what stands in their place.
const OURS: [(&str, &str); 15] = [
    // Numbers are not used again: there are two thousand million of them, some hundred to a report.
    ("let heap = ", "const heap = {};"),
    ("let heap_next = ", "let heap_next = 1028;"),
    ("function addHeapObject(", "const addHeapObject = (obj) => ((heap[++heap_next] = obj), heap_next);"),
    (
        "function takeObject(",
        "const takeObject = (idx) => {
    const obj = heap[idx];
    delete heap[idx];
    return obj;
};",
    ),
    ("function handleError(", ""),
    // The few strings are encoded once each: no need to guess lengths.
    (
        "function passStringToWasm0(",
        "function passStringToWasm0(arg, malloc) {
    return passArray8ToWasm0(cachedTextEncoder.encode(arg), malloc);
}",
    ),
    ("if (!('encodeInto' in cachedTextEncoder)) {", ""),
    // Safari's decoder fails after 2 GiB, which is a million reports.
    (
        "function getStringFromWasm0(",
        "const getStringFromWasm0 = (ptr, len) => cachedTextDecoder.decode(new Uint8Array(wasm.memory.buffer, ptr, len));",
    ),
    ("function decodeText(", ""),
    // Names of fields and models have no mark of byte order that is worth to be kept.
    ("let cachedTextDecoder = ", "const cachedTextDecoder = new TextDecoder();"),
    ("cachedTextDecoder.decode();", ""),
    ("const MAX_SAFARI_DECODE_BYTES", ""),
    ("let numBytesDecoded", ""),
    ("function getDataViewMemory0(", "const getDataViewMemory0 = () => new DataView(wasm.memory.buffer);"),
    ("const CLOSURE_DTORS", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    const THEIRS: &str = "/**
 * Ends.
 */
export function end(key, time) {
    wasm.end(key, time);
}

export function report(key) {
    const ret = wasm.report(key);
    return ret;
}

export function chunk(key, bytes) {
    const val1 = +key;
    const ptr0 = passArray8ToWasm0(bytes, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.chunk(val1, ptr0, len0);
    return ret !== 0;
}
export function __wbg_userAgent() { return handleError(function (arg0) {
    const ret = arg0.userAgent;
    return passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
}, arguments); }
export function __wbg_now() {
    return performance.now();
}
export function __wbg_parse() {
    return JSON.parse();
}
export function __wbg_wake() {
    wake();
}
export function __wbindgen_generic(arg0, arg1) {
    // Cast intrinsic.
    const ret = makeMutClosure(arg0, arg1, closure__invoke__1);
    return addHeapObject(ret);
}
function handleError(f, args) {
    try {
        return f.apply(this, args);
    } catch (e) {
        wasm.__wbindgen_exn_store(e);
    }
}

let cachedTextDecoder = new TextDecoder();
cachedTextDecoder.decode();
let wasm;
export function __wbg_set_wasm(val) {
    wasm = val;
}
";

    #[test]
    fn what_nobody_asks_for_and_what_only_hands_on_goes() {
        let expected = "export const glued = (made, wake, setTimeout) => {

const cachedTextDecoder = new TextDecoder();

let wasm;
wasm = made({
__wbg_userAgent(arg0) {
    return passStringToWasm0(arg0.userAgent, wasm.__wbindgen_malloc);
},
__wbg_parse() {
    return JSON.parse();
},
__wbg_wake: wake,
__wbindgen_generic(arg0, arg1) {
    // Cast intrinsic.
    return addHeapObject(Object.assign(() => wasm.closure__invoke__1(arg0, arg1), \
{ _wbg_cb_unref: () => wasm.__wbindgen_destroy_closure(arg0, arg1) }));
},
});
return {
...wasm,
chunk(key, bytes) {
    const ptr0 = wasm.__wbindgen_malloc(bytes.length, 1);
    new Uint8Array(wasm.memory.buffer).set(bytes, ptr0);
    return wasm.chunk(key, ptr0, bytes.length) !== 0;
},
};
};
";
        assert_eq!(trim(THEIRS, |name| name != "__wbg_now").replace("\n\n\n", "\n\n").trim_start(), expected);
    }
}

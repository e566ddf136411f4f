//! Where the user is: the browser's own words come in, families and classes go out, and nothing
//! that could tell one user from another.

use js_sys::Reflect;
use wasm_bindgen::JsValue;
use web_sys::Window;

/// What holds for the whole life of the page.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Device {
    /// Browser family.
    pub(crate) browser: Option<&'static str>,
    /// Operating system family.
    pub(crate) os: Option<&'static str>,
    /// `desktop`, `mobile` or `tablet`.
    pub(crate) device: Option<&'static str>,
}

/// What a request of this moment is made over.
pub(crate) struct Place {
    /// Path with ids replaced.
    pub(crate) route: String,
    /// The browser's class of the connection, where it has one.
    pub(crate) connection: Option<String>,
}

impl Device {
    pub(crate) fn of(window: &Window) -> Self {
        let navigator = member(window, "navigator");
        let agent = member(&navigator, "userAgent").as_string().unwrap_or_default();
        // An iPad has five. Comparing with a text takes no more glue, as numbers would.
        let touch = member(&navigator, "maxTouchPoints").loose_eq(&JsValue::from_str("5"));
        Self::by(agent.as_bytes(), touch)
    }

    /// By the user agent string: the first word found decides, as each browser names those that it
    /// wants to be taken for after itself.
    fn by(agent: &[u8], touch: bool) -> Self {
        // An iPad takes itself for a Mac, but no Mac has a touch screen.
        let pad = has(agent, "iPad") || (touch && has(agent, "Macintosh"));
        let os = if pad { Some("ios") } else { first(agent, SYSTEMS) };
        let device = if !pad && has(agent, "Mobi") {
            "mobile"
        } else if pad || has(agent, "Android") {
            "tablet"
        } else {
            "desktop"
        };
        Self { browser: first(agent, BROWSERS), os, device: os.map(|_| device) }
    }
}

impl Place {
    pub(crate) fn now(window: &Window) -> Self {
        let path = member(&member(window, "location"), "pathname").as_string().unwrap_or_default();
        // Only Chromium has it.
        let connection = member(&member(window, "navigator"), "connection");
        Self { route: route(&path), connection: member(&connection, "effectiveType").as_string() }
    }
}

/// `undefined` where there is no such thing. The glue of one reflection is less to load than a getter
/// for each.
pub(crate) fn member(object: &JsValue, name: &str) -> JsValue {
    // Of anything else than an object it throws, and what throws ends the probe.
    if !object.is_object() {
        return JsValue::UNDEFINED;
    }
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or_default()
}

fn first(agent: &[u8], families: &'static str) -> Option<&'static str> {
    let mut words = families.split_ascii_whitespace();
    while let Some(word) = words.next() {
        let family = words.next();
        if has(agent, word) {
            return family;
        }
    }
    None
}

// `str::contains` brings a search for long texts along, of 2 kB.
#[inline(never)]
fn has(agent: &[u8], word: &str) -> bool {
    agent.windows(word.len()).any(|part| part == word.as_bytes())
}

/// Words, and the family that each is of: in one text, as pointers to each would have to be loaded too.
const BROWSERS: &str = "
    Edg edge
    OPR/ opera
    SamsungBrowser samsung
    Firefox firefox
    FxiOS firefox
    Chrom chrome
    CriOS chrome
    Safari safari
    AppleWebKit webkit
";

const SYSTEMS: &str = "
    Android android
    iPhone ios
    iPod ios
    Windows windows
    Macintosh macos
    CrOS chromeos
    Linux linux
";

/// A path with every segment that may name a person or a thing replaced by `:id`.
fn route(path: &str) -> String {
    let mut route = String::new();
    let segments = path.as_bytes().split(|&byte| byte == b'/').filter(|segment| !segment.is_empty());
    for segment in segments.take(MAX_SEGMENTS) {
        route.push('/');
        let word = if is_word(segment) { segment } else { b":id" };
        word.iter().for_each(|&byte| route.push(byte.into()));
    }
    if route.is_empty() {
        route.push('/');
    }
    route
}

/// A short word as in source code: small letters, with at most two digits, as in `v1`.
fn is_word(segment: &[u8]) -> bool {
    let digits = segment.iter().filter(|byte| byte.is_ascii_digit()).count();
    let plain = segment.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'));
    plain && digits <= 2 && digits < segment.len() && segment.len() <= MAX_WORD_BYTES
}

const MAX_SEGMENTS: usize = 6;
const MAX_WORD_BYTES: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_keeps_words_and_no_ids() {
        let cases = [
            ("/", "/"),
            ("/chat/", "/chat"),
            ("/v1/chat", "/v1/chat"),
            ("/chat/9f86d081884c7d659a2feaa0c55ad015", "/chat/:id"),
            ("/chat/3f2504e0-4f89-11d3-9a0c-0305e82c3301/edit", "/chat/:id/edit"),
            ("/u/42", "/u/:id"),
            ("/u/someone@example.org", "/u/:id"),
            ("/t/Vh3kQzLm", "/t/:id"),
            ("/a%20b", "/:id"),
            ("/a/b/c/d/e/f/g/h", "/a/b/c/d/e/f"),
        ];
        for (path, expected) in cases {
            assert_eq!(route(path), expected, "{path}");
        }
    }

    fn families(agent: &str, touch: bool) -> [Option<&'static str>; 3] {
        let Device { browser, os, device } = Device::by(agent.as_bytes(), touch);
        [browser, os, device]
    }

    #[test]
    fn a_browser_is_known_by_the_first_name_that_is_its_own() {
        let mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15";
        let cases = [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/150.0.0.0 Safari/537.36",
                false,
                ["chrome", "linux", "desktop"],
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/150.0 Safari/537.36 Edg/150.0",
                true,
                ["edge", "windows", "desktop"],
            ),
            (
                "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/150.0 Mobile Safari/537.36",
                true,
                ["chrome", "android", "mobile"],
            ),
            (
                "Mozilla/5.0 (Android 15; Tablet; rv:150.0) Gecko/150.0 Firefox/150.0",
                true,
                ["firefox", "android", "tablet"],
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 CriOS/150.0 Mobile/15E148 Safari/604.1",
                true,
                ["chrome", "ios", "mobile"],
            ),
            (mac, false, ["safari", "macos", "desktop"]),
            (mac, true, ["safari", "ios", "tablet"]),
        ];
        for (agent, touch, expected) in cases {
            assert_eq!(families(agent, touch), expected.map(Some), "{agent}");
        }
        assert_eq!(families("something else", false), [None; 3]);
    }
}

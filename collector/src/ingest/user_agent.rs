//! Recognizes the families of browser, system and device in a `User-Agent`. The header itself is neither stored nor
//! logged.

use std::borrow::Cow;
use std::cell::LazyCell;

use beacon::{Page, StreamReport};
use memchr::memmem;

use super::normalize::MAX_DIGITS;

/// Adds the families to all pages that name neither browser nor system themselves. A sender that names one
/// may be a relay, whose own `User-Agent` says nothing about the page.
pub(crate) fn add_families<'a>(agent: &[u8], reports: impl Iterator<Item = &'a mut StreamReport>) {
    let families = LazyCell::new(|| Families::of(agent));
    for page in reports.filter_map(|report| report.page.as_mut()) {
        if page.browser.is_none()
            && page.os.is_none()
            && let Some(families) = &*families
        {
            families.name(page);
        }
    }
}

/// Values from the lists in `normalize.rs`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Families {
    browser: &'static str,
    /// The browser with its major version. `None` if the version is unknown.
    version: Option<String>,
    os: &'static str,
    /// `None` if the system is unknown.
    device: Option<&'static str>,
}

impl Families {
    /// `None` if the `User-Agent` is empty.
    fn of(agent: &[u8]) -> Option<Self> {
        if agent.is_empty() {
            return None;
        }
        let agent = &agent[..agent.len().min(MOST_BYTES)];
        let has = |word: &&str| memmem::find(agent, word.as_bytes()).is_some();
        let first = |families: &[(&'static str, &[&str])]| {
            families.iter().find(|(_, words)| words.iter().any(has)).map(|(family, _)| *family)
        };
        let pad = has(&"iPad");
        let os = if pad { Some("ios") } else { first(SYSTEMS) };
        let device = match os {
            _ if pad => "tablet",
            _ if has(&"Mobi") => "mobile",
            Some("android") => "tablet",
            _ => "desktop",
        };
        let browser = first(BROWSERS);
        Some(Self {
            browser: browser.unwrap_or(UNKNOWN),
            version: browser.and_then(|family| Some(format!("{family} {}", major_version(agent, family)?))),
            os: os.unwrap_or(UNKNOWN),
            device: os.map(|_| device),
        })
    }

    fn name(&self, page: &mut Page) {
        // An iPad sends the `User-Agent` of a Mac. But the page reported a tablet, and no Mac is one.
        let pad = self.os == "macos" && page.device.as_deref() == Some("tablet");
        page.browser = Some(Cow::Borrowed(self.browser));
        page.browser_version = self.version.clone().map(Cow::Owned);
        page.os = Some(Cow::Borrowed(if pad { "ios" } else { self.os }));
        if page.device.is_none() {
            page.device = self.device.map(Cow::Borrowed);
        }
    }
}

/// The digits behind the name of the family and a slash, as in `Chrome/150.0`.
fn major_version<'a>(agent: &'a [u8], family: &str) -> Option<&'a str> {
    let named = BROWSERS.iter().find(|(known, _)| *known == family).map(|(_, words)| *words)?;
    // Safari's own number is that of WebKit.
    let words = if family == "safari" { &["Version"] } else { named };
    words.iter().find_map(|word| {
        let from = memmem::find(agent, word.as_bytes())? + word.len();
        let end_of_word =
            agent[from..].iter().position(|byte| !byte.is_ascii_alphabetic() && *byte != b'/')?;
        let number = from + end_of_word;
        let digits = agent[number..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let follows_slash = agent[..number].ends_with(b"/");
        let is_version = follows_slash && (1..=MAX_DIGITS).contains(&digits) && family != "webkit";
        is_version.then(|| str::from_utf8(&agent[number..number + digits]).ok())?
    })
}

/// Families, each with the words that identify it. The first match wins: a browser comes before those whose
/// names its `User-Agent` contains as well.
const BROWSERS: &[(&str, &[&str])] = &[
    ("edge", &["Edg"]),
    ("opera", &["OPR/"]),
    ("samsung", &["SamsungBrowser"]),
    ("firefox", &["Firefox", "FxiOS"]),
    ("chrome", &["Chrom", "CriOS"]),
    ("safari", &["Safari"]),
    ("webkit", &["AppleWebKit"]),
];

const SYSTEMS: &[(&str, &[&str])] = &[
    ("android", &["Android"]),
    ("ios", &["iPhone", "iPod"]),
    ("windows", &["Windows"]),
    ("macos", &["Macintosh"]),
    ("chromeos", &["CrOS"]),
    ("linux", &["Linux"]),
];

const UNKNOWN: &str = "other";

/// Longer than the `User-Agent` of any browser; searching the rest is not worth the time.
const MOST_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ingest::normalize::Aliases;

    const MAC: &str =
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15";

    /// The page of a report after this agent's families were added to it.
    fn with_families(agent: &[u8], page: Option<Page>) -> Option<Page> {
        let mut report = StreamReport { page, ..StreamReport::new("0") };
        add_families(agent, std::iter::once(&mut report));
        report.page
    }

    fn words(page: &Page) -> String {
        let word = |word: &Option<Cow<'static, str>>| word.as_deref().unwrap_or("-").to_owned();
        [&page.browser, &page.os, &page.device].map(word).join(" ")
    }

    #[test]
    fn a_browser_is_known_by_its_first_distinctive_name() {
        for (agent, families) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/150.0.0.0 Safari/537.36",
                "chrome linux desktop",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/150.0 Safari/537.36 Edg/150.0",
                "edge windows desktop",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/150.0 Safari/537.36 OPR/130.0",
                "opera windows desktop",
            ),
            (
                "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 Chrome/150.0 Safari/537.36",
                "chrome chromeos desktop",
            ),
            (
                "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/150.0 Mobile Safari/537.36",
                "chrome android mobile",
            ),
            (
                "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 SamsungBrowser/28.0 Chrome/130.0 Safari/537.36",
                "samsung android tablet",
            ),
            (
                "Mozilla/5.0 (Android 15; Tablet; rv:150.0) Gecko/150.0 Firefox/150.0",
                "firefox android tablet",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 CriOS/150.0 Mobile/15E148 Safari/604.1",
                "chrome ios mobile",
            ),
            (
                "Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X) AppleWebKit/605.1.15 FxiOS/150.0 Mobile/15E148 Safari/604.1",
                "firefox ios tablet",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
                "webkit ios mobile",
            ),
            (MAC, "safari macos desktop"),
            ("something else", "other other -"),
            ("node", "other other -"),
        ] {
            assert_eq!(
                words(&with_families(agent.as_bytes(), Some(Page::default())).unwrap()),
                families,
                "{agent}"
            );
        }
    }

    #[test]
    fn the_major_version_stands_behind_the_browsers_name() {
        for (agent, version) in [
            (MAC, Some("safari 18")),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36",
                Some("chrome 156"),
            ),
            (
                "Mozilla/5.0 (X11; Linux) AppleWebKit/537.36 HeadlessChrome/156.0 Safari/537.36",
                Some("chrome 156"),
            ),
            ("Mozilla/5.0 AppleWebKit/537.36 Chrome/150.0 Safari/537.36 EdgA/149.0", Some("edge 149")),
            ("Mozilla/5.0 AppleWebKit/537.36 Chrome/150.0 Safari/537.36 OPR/130.0", Some("opera 130")),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0", Some("firefox 153")),
            ("Mozilla/5.0 (iPhone) AppleWebKit/605.1.15 CriOS/150.0 Mobile/15E148", Some("chrome 150")),
            ("Mozilla/5.0 (iPhone) AppleWebKit/605.1.15 Mobile/15E148", None),
            ("Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Safari/605.1.15", None),
            ("Firefox", None),
            ("Firefox/", None),
            ("Firefox/123456", None),
            ("Firefox next/1.0", None),
            ("something else/7", None),
        ] {
            let page = with_families(agent.as_bytes(), Some(Page::default())).unwrap();
            assert_eq!(page.browser_version.as_deref(), version, "{agent}");
        }
    }

    #[test]
    fn a_tablet_with_the_user_agent_of_a_mac_is_ios() {
        let tablet = Page { device: Some("tablet".into()), ..Page::default() };
        assert_eq!(words(&with_families(MAC.as_bytes(), Some(tablet)).unwrap()), "safari ios tablet");
    }

    #[test]
    fn families_named_by_the_report_stay() {
        for named in [
            Page { browser: Some("brave".into()), ..Page::default() },
            Page { os: Some("windows".into()), ..Page::default() },
        ] {
            assert_eq!(with_families(MAC.as_bytes(), Some(named.clone())), Some(named));
        }
    }

    #[test]
    fn unknown_browsers_are_absent_and_not_other() {
        assert_eq!(with_families(b"", Some(Page::default())), Some(Page::default()), "absent is not other");
        assert_eq!(with_families(MAC.as_bytes(), None), None, "no page, no browser of it");
    }

    proptest! {
        #[test]
        fn any_user_agent_gives_listed_words_only(
            parts in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(vec!["Edg", "Chrom", "Android", "iPad", "Mobi", "Macintosh", "Safari"])
                        .prop_map(|word| word.as_bytes().to_vec()),
                    prop::collection::vec(any::<u8>(), 0..300),
                ],
                1..12,
            ),
            tablet in any::<bool>(),
        ) {
            let agent = parts.concat();
            let device = tablet.then_some(Cow::Borrowed("tablet"));
            let page = with_families(&agent, Some(Page { device, ..Page::default() }));
            let mut normal = StreamReport { page: page.clone(), ..StreamReport::new("0") };
            Aliases::default().normalize(&mut normal);
            prop_assert_eq!(&normal.page, &page, "another word than the lists have");
            prop_assert_eq!(page.unwrap().browser.is_none(), agent.is_empty());
            let ahead = &agent[..agent.len().min(MOST_BYTES)];
            prop_assert_eq!(Families::of(&agent), Families::of(ahead), "what is beyond is not looked at");
        }
    }
}

//! Normalizes names: aliases of models to their configured name, browsers, systems and devices to known families.

use std::borrow::Cow;
use std::collections::BTreeMap;

use beacon::{Outcome, Page, ServerTiming, StreamReport};

use crate::config::model_name::bare;
use crate::time::to_microsecond;

/// Configured model names: exact ones, and prefixes that end in `*`. A leading `models/` is ignored in them,
/// as it is in reports.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    exact: BTreeMap<String, String>,
    /// Longest first.
    prefixes: Vec<(String, String)>,
}

impl Aliases {
    pub(crate) fn new(configured: &BTreeMap<String, String>) -> Self {
        let mut aliases = Self::default();
        for (pattern, name) in configured {
            let pattern = bare(pattern);
            match pattern.strip_suffix('*') {
                Some(prefix) => aliases.prefixes.push((prefix.to_owned(), name.clone())),
                None => drop(aliases.exact.insert(pattern.to_owned(), name.clone())),
            }
        }
        aliases.prefixes.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        aliases
    }

    /// Replaces model names by their configured names, and the page's values by known families. Finds streams that
    /// show no text. Rounds times.
    pub(crate) fn normalize(&self, report: &mut StreamReport) {
        report.background |= is_without_text(report);
        round_times(report);
        self.name(&mut report.model);
        self.name(&mut report.response_model);
        if let Some(page) = &mut report.page {
            normalize_page(page);
        }
    }

    fn name(&self, model: &mut Option<Cow<'static, str>>) {
        let Some(sent) = model else { return };
        let bare = bare(sent);
        let by_prefix = || self.prefixes.iter().find(|(prefix, _)| bare.starts_with(prefix.as_str()));
        let name = self.exact.get(bare).or_else(|| by_prefix().map(|(_, name)| name));
        let name = name.map_or(bare, String::as_str);
        if name != sent.as_ref() {
            *model = Some(Cow::Owned(name.to_owned()));
        }
    }
}

/// Rounds the times that windows count to a microsecond, as the probe does: files of streams have no more, and must give
/// the same answers as windows.
fn round_times(report: &mut StreamReport) {
    let moments = [
        &mut report.submit_delay_ms,
        &mut report.headers_ms,
        &mut report.first_byte_ms,
        &mut report.first_event_ms,
        &mut report.ttft_ms,
        &mut report.ttfv_ms,
        &mut report.ttfp_ms,
        &mut report.e2e_ms,
        &mut report.close_ms,
        &mut report.tpot_ms,
        &mut report.longest_gap_ms,
    ];
    let server = report.server.as_mut().map(|server| {
        let ServerTiming { queue_ms, ttft_ms, generation_ms, .. } = server;
        [queue_ms, ttft_ms, generation_ms]
    });
    for ms in moments.into_iter().chain(server.into_iter().flatten()).flatten() {
        *ms = to_microsecond(*ms);
    }
}

/// Whether the stream shows the user no text. That is so if it is of the protocol for tools. It is also so if it ended
/// well without text, in a protocol of apps that carries more than answers: a model's own format always answers, and a
/// finish reason or tokens show that a model was asked.
fn is_without_text(report: &StreamReport) -> bool {
    // Its stream of notifications stays open as long as the page, so how it ends says nothing.
    if report.dialect.as_deref() == Some(TOOL_PROTOCOL) {
        return true;
    }
    report.outcome == Outcome::Complete
        && !report.open
        && report.dialect.as_deref().is_some_and(|dialect| APP_PROTOCOLS.contains(&dialect))
        && report.deltas == 0
        && report.ttft_ms.is_none()
        && report.e2e_ms.is_none()
        && report.finish_reason.is_none()
        && report.output_tokens.is_none()
}

fn normalize_page(page: &mut Page) {
    for (word, known) in [
        (&mut page.browser, BROWSERS),
        (&mut page.os, SYSTEMS),
        (&mut page.device, DEVICES),
        (&mut page.connection, CONNECTIONS),
        (&mut page.visibility, VISIBILITIES),
    ] {
        if let Some(sent) = word {
            let same = |known: &&&str| sent.eq_ignore_ascii_case(known);
            *word = Some(Cow::Borrowed(known.iter().find(same).copied().unwrap_or("other")));
        }
    }
    page.browser_version = page.browser_version.take().filter(|sent| is_version(sent));
}

/// Whether this is a known family with a major version, such as `chrome 156`.
fn is_version(version: &str) -> bool {
    version.split_once(' ').is_some_and(|(family, major)| {
        BROWSERS.contains(&family)
            && (1..=MAX_DIGITS).contains(&major.len())
            && major.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Most digits of a major version.
pub(super) const MAX_DIGITS: usize = 4;

const BROWSERS: &[&str] =
    &["chrome", "safari", "edge", "firefox", "samsung", "opera", "webkit", "brave", "vivaldi", "duckduckgo"];
const SYSTEMS: &[&str] = &["windows", "android", "ios", "macos", "linux", "chromeos"];
const DEVICES: &[&str] = &["desktop", "mobile", "tablet"];
/// Values of `navigator.connection.effectiveType`.
const CONNECTIONS: &[&str] = &["4g", "3g", "2g", "slow-2g"];
const VISIBILITIES: &[&str] = &["visible", "hidden", "mixed"];

/// The dialect of the Model Context Protocol.
const TOOL_PROTOCOL: &str = "mcp";

/// Dialects of `docs/formats.md` whose streams also carry state, tools and buttons.
const APP_PROTOCOLS: [&str; 6] = ["ag_ui", "ai_sdk_data", "ai_sdk_ui", "gradio", "gradio_call", "langgraph"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_stream_of_an_app_without_text_is_background() {
        let state = StreamReport {
            outcome: Outcome::Complete,
            dialect: Some("ag_ui".into()),
            open: false,
            ..StreamReport::new("0")
        };
        let is_background = |report: StreamReport| {
            let mut report = report;
            Aliases::default().normalize(&mut report);
            report.background
        };
        assert!(is_background(state.clone()));
        assert!(
            is_background(StreamReport { deltas: 3, background: true, ..state.clone() }),
            "the app says so"
        );
        for (name, report) in [
            ("open", StreamReport { open: true, ..state.clone() }),
            ("cut", StreamReport { outcome: Outcome::Truncated, ..state.clone() }),
            ("text", StreamReport { deltas: 1, ttft_ms: Some(9.0), ..state.clone() }),
            ("whole response", StreamReport { e2e_ms: Some(9.0), ..state.clone() }),
            ("finish reason", StreamReport { finish_reason: Some("stop".into()), ..state.clone() }),
            ("tokens", StreamReport { output_tokens: Some(64), ..state.clone() }),
            ("format of a model", StreamReport { dialect: Some("tgi".into()), ..state.clone() }),
            ("unknown format", StreamReport { dialect: Some("generic".into()), ..state }),
        ] {
            assert!(!is_background(report), "{name}");
        }
    }

    #[test]
    fn a_request_for_tools_is_background_however_it_ends() {
        for outcome in [Outcome::Complete, Outcome::Aborted, Outcome::Abandoned, Outcome::NetworkError] {
            for open in [false, true] {
                let mut report =
                    StreamReport { outcome, open, dialect: Some("mcp".into()), ..StreamReport::new("0") };
                Aliases::default().normalize(&mut report);
                assert!(report.background, "{outcome:?}, open: {open}");
            }
        }
    }

    #[test]
    fn times_are_rounded_to_a_microsecond() {
        let server = ServerTiming { queue_ms: Some(1.0 / 3.0), ..ServerTiming::default() };
        let mut report = StreamReport {
            ttft_ms: Some(812.4),
            tpot_ms: Some(100.0 / 9.0),
            server: Some(server),
            ..StreamReport::new("0")
        };
        Aliases::default().normalize(&mut report);
        assert_eq!((report.ttft_ms, report.tpot_ms), (Some(812.4), Some(11.111)));
        assert_eq!(report.server.unwrap().queue_ms, Some(0.333));
    }

    #[test]
    fn a_model_has_one_name() {
        let configured = [
            ("gpt-5-2026-*", "gpt-5"),
            ("gpt-*", "gpt"),
            ("claude-x", "claude"),
            ("models/gemini-3-*", "gemini-3"),
            ("models/gemma", "gemma-1"),
        ];
        let aliases =
            Aliases::new(&configured.map(|(pattern, name)| (pattern.to_owned(), name.to_owned())).into());
        for (sent, name) in [
            ("gpt-5-2026-08-01", "gpt-5"),
            ("gpt-4o", "gpt"),
            ("claude-x", "claude"),
            ("claude-x-1", "claude-x-1"),
            ("models/gemini-2.5-pro", "gemini-2.5-pro"),
            ("models/gemini-3-pro", "gemini-3"),
            ("gemini-3-flash", "gemini-3"),
            ("models/gemma", "gemma-1"),
            ("models/", "models/"),
            ("meta-llama/Llama-3-70B", "meta-llama/Llama-3-70B"),
        ] {
            let mut report = StreamReport {
                model: Some(sent.into()),
                response_model: Some(sent.into()),
                ..StreamReport::new("0")
            };
            aliases.normalize(&mut report);
            assert_eq!((report.model.as_deref(), report.response_model.as_deref()), (Some(name), Some(name)));
        }
    }

    #[test]
    fn a_browser_version_is_a_known_family_with_a_number() {
        let kept = |sent: &str| {
            let page = Page { browser_version: Some(sent.to_owned().into()), ..Page::default() };
            let mut report = StreamReport { page: Some(page), ..StreamReport::new("0") };
            Aliases::default().normalize(&mut report);
            report.page.unwrap().browser_version.is_some()
        };
        for (sent, is_kept) in [
            ("chrome 156", true),
            ("chrome", false),
            ("chrome ", false),
            ("chrome 12345", false),
            ("chrome 1a", false),
            ("my name 7", false),
        ] {
            assert_eq!(kept(sent), is_kept, "{sent}");
        }
    }

    #[test]
    fn page_families_are_known_words_or_other() {
        let page = Page {
            browser: Some("Chrome".into()),
            os: Some("TempleOS".into()),
            route: Some("/Chat".into()),
            ..Page::default()
        };
        let mut report = StreamReport { page: Some(page), ..StreamReport::new("0") };
        Aliases::default().normalize(&mut report);
        let page = report.page.unwrap();
        assert_eq!((page.browser.as_deref(), page.os.as_deref()), (Some("chrome"), Some("other")));
        assert_eq!((page.device, page.route.as_deref()), (None, Some("/Chat")), "absent stays absent");
    }
}

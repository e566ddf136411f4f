//! Refuses beacons of bots, prerendered pages and the operator's own tests.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use axum::http::header::USER_AGENT;
use axum::http::{HeaderMap, HeaderName};

use crate::config::filters::Filters;
use crate::http::error::{ApiError, Reason};

impl Filters {
    /// Refuses a request that the site's filters exclude because it does not come from a user.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let agent = headers.get(USER_AGENT).map(|agent| agent.as_bytes()).unwrap_or_default();
        let is_part = |part: &String| memchr::memmem::find(agent, part.as_bytes()).is_some();
        if self.own_tests.iter().any(is_part) {
            return Err(ApiError::new(Reason::FilteredTest, "the site's `filters` exclude its own tests"));
        }
        if self.prerender
            && headers.get(SEC_PURPOSE).is_some_and(|purpose| contains(purpose.as_bytes(), b"prerender"))
        {
            return Err(ApiError::new(Reason::FilteredPrerender, "the page is prerendered and not visible"));
        }
        if self.bots && is_bot(agent) {
            return Err(ApiError::new(Reason::FilteredBot, "the site's `filters` exclude bots"));
        }
        Ok(())
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}

fn is_bot(agent: &[u8]) -> bool {
    let phone = |at: usize| agent[..at].to_ascii_lowercase().ends_with(b"cu");
    // CUBOT is a maker of phones.
    BOTS.find_iter(agent).any(|found| found.pattern().as_usize() >= NAMED_BOT || !phone(found.start()))
}

static BOTS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let built = AhoCorasick::builder().ascii_case_insensitive(true).build(BOT_WORDS);
    built.expect("a few dozen short words make an automaton")
});

/// Crawlers call themselves `…bot/1.0` or give an address after a plus sign. The other words name tools.
const BOT_WORDS: [&str; 34] = [
    "bot/",
    "bot;",
    "bot)",
    "bot-",
    "+http",
    "crawler",
    "spider",
    "slurp",
    "headlesschrome",
    "phantomjs",
    "puppeteer",
    "playwright",
    "selenium",
    "cypress",
    "lighthouse",
    "pagespeed",
    "gtmetrix",
    "webpagetest",
    "pingdom",
    "uptimerobot",
    "statuscake",
    "site24x7",
    "datadogsynthetics",
    "facebookexternalhit",
    "scrapy",
    "libwww-perl",
    "curl/",
    "wget/",
    "python-requests",
    "python-urllib",
    "aiohttp/",
    "go-http-client",
    "apache-httpclient",
    "node-fetch",
];

/// Index of the first word that does not begin with `bot`.
const NAMED_BOT: usize = 4;

/// Chromium sends it with every request of a prerendered page.
const SEC_PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bots_and_browsers_are_distinguished() {
        for bot in [
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.1; +https://openai.com/gptbot)",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/150.0.0.0 Safari/537.36",
            "Mozilla/5.0 (Linux; Android 11) Chrome/130.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse",
            "curl/8.5.0",
            "python-requests/2.32",
        ] {
            assert!(is_bot(bot.as_bytes()), "{bot}");
        }
        for browser in [
            "",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36",
            "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
            "Mozilla/5.0 (Linux; Android 12; CUBOT) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36",
            "Mozilla/5.0 (Linux; Android 12; CuBot-X30; wv) AppleWebKit/537.36",
        ] {
            assert!(!is_bot(browser.as_bytes()), "{browser}");
        }
    }
}

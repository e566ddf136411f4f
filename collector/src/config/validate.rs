//! Finds all mistakes of a well-formed [`Config`].

mod access;
mod found;

use std::collections::{HashMap, HashSet};

use axum::http::{HeaderName, HeaderValue, Uri};
use beacon::{MAX_ATTRIBUTES, is_attribute_key};

use super::error::Mistake;
use super::{ClickHouse, Config, CountryFrom, LEAST_MEMORY_BYTES, Site, country_database, model_name};
use found::{Found, NO_WORD, WORD, is_word};

impl Config {
    /// All mistakes because of which a collector would not start with these values.
    #[must_use]
    pub fn mistakes(&self) -> Vec<Mistake> {
        let mut found = Found::default();
        access::check_access(self, &mut found);
        if self.data.as_os_str().is_empty() {
            let problem = "is empty, which means the working directory of the collector";
            found.add("data", problem, "write a path such as `/var/lib/llm-rum`, or `.` for that directory");
        }
        self.check_numbers(&mut found);
        if let Some(clickhouse) = &self.store.clickhouse {
            check_clickhouse(clickhouse, &mut found);
        }
        found.rate("ingest.network_rate", self.ingest.network_rate);
        if self.sites.is_empty() {
            found.add(
                "sites",
                "is empty, so no page can send",
                "add a `[[sites]]` table with `name`, `keys` and `origins`",
            );
        }
        let (mut names, mut keys) = (HashSet::new(), HashSet::new());
        for (index, site) in self.sites.iter().enumerate() {
            let at = format!("sites[{index}]");
            check_site(&at, site, &mut names, &mut keys, &mut found);
            for (use_case, targets) in &site.targets {
                let all = targets.over(self.targets(None, use_case));
                found.targets(&format!("{at}.targets.{use_case}"), use_case, &targets.targets, &all);
            }
        }
        self.check_models(&mut found);
        for (use_case, targets) in &self.targets {
            let all = self.targets(None, use_case);
            found.targets(&format!("targets.{use_case}"), use_case, &targets.targets, &all);
        }
        self.check_reading_speeds(&mut found);
        self.check_otlp(&mut found);
        self.check_notify(&mut found);
        self.check_engines(&mut found);
        self.check_country(&mut found);
        found.0
    }

    fn check_models(&self, found: &mut Found) {
        let mut patterns = HashMap::new();
        for (pattern, name) in &self.models {
            let field = format!("models.{pattern}");
            let bare = model_name::bare(pattern);
            let beginning = bare.strip_suffix('*').unwrap_or(bare);
            if name.is_empty() || name.len() > 128 || beginning.is_empty() || beginning.contains('*') {
                let remedy = r#"write `"sent-name" = "name"` or `"beginning*" = "name"`"#;
                found.add(field, "is not a valid alias", remedy);
            } else if let Some(same) = patterns.insert(bare, pattern) {
                let problem = format!("is the same as `{same}`, because `models/` before a name is ignored");
                found.add(field, problem, "remove one of the two");
            }
        }
    }

    fn check_reading_speeds(&self, found: &mut Found) {
        let speeds = &self.reading_speeds;
        if speeds.len() > MOST_READING_SPEEDS {
            let problem = format!("has {} speeds, more than {MOST_READING_SPEEDS}", speeds.len());
            found.add("reading_speeds", problem, "remove some");
        }
        if speeds.iter().any(|speed| !speed.is_finite() || *speed <= 0.0) {
            found.add("reading_speeds", "has a speed that is not above 0", "write output tokens per second");
        }
    }

    fn check_otlp(&self, found: &mut Found) {
        if let Some(endpoint) = &self.otlp.endpoint {
            let remedy = "write it as `http://127.0.0.1:4318`, without `/v1/metrics`";
            if !is_http(endpoint) {
                found.add("otlp.endpoint", "is not a valid address", remedy);
            } else if endpoint.trim_end_matches('/').ends_with("/v1/metrics") {
                found.add("otlp.endpoint", "ends with the path that the collector appends", remedy);
            }
        }
        for (name, value) in &self.otlp.headers {
            let field = format!("otlp.headers.{name}");
            if HeaderName::try_from(name).is_err() {
                let remedy = "write a header name, such as `authorization`";
                found.add(field, "is not a valid header name", remedy);
            } else if HeaderValue::from_bytes(value.bytes()).is_err() {
                found.add(field, "is not a valid header value", "write it on one line");
            }
        }
    }

    fn check_notify(&self, found: &mut Found) {
        if self.public_url.as_ref().is_some_and(|url| !is_http(url) || url.contains(['?', '#', '@'])) {
            found.add("public_url", "is not a valid address", "write it as `https://rum.example`");
        }
        let sites = self.sites.iter().map(|site| site.name.as_str()).collect();
        let mut ids = HashSet::new();
        for (index, receiver) in self.notify.iter().enumerate() {
            for (field, problem, remedy) in receiver.mistakes(&sites) {
                found.add(format!("notify[{index}].{field}"), problem, remedy);
            }
            if !ids.insert(receiver.id()) {
                let problem = "is the address of an earlier `[[notify]]` too";
                found.add(
                    format!("notify[{index}].url"),
                    problem,
                    "write one `[[notify]]` for each receiver",
                );
            }
        }
    }

    fn check_engines(&self, found: &mut Found) {
        if self.engines.len() > MOST_ENGINES {
            let problem = format!("has {} engines, more than {MOST_ENGINES}", self.engines.len());
            found.add("engines", problem, "remove some");
        }
        let sites = self.sites.iter().map(|site| site.name.as_str()).collect();
        let mut names = HashSet::new();
        for (index, engine) in self.engines.iter().enumerate() {
            for (field, problem, remedy) in engine.mistakes(&sites) {
                found.add(format!("engines[{index}].{field}"), problem, remedy);
            }
            if !names.insert(engine.name()) {
                let problem = "is the address of an earlier `[[engines]]` too";
                found.add(
                    format!("engines[{index}].url"),
                    problem,
                    "write one `[[engines]]` for each engine",
                );
            }
        }
    }

    fn check_country(&self, found: &mut Found) {
        let CountryFrom { header, mmdb, .. } = &self.country;
        if header.is_some() && mmdb.is_some() {
            found.add("country.mmdb", "conflicts with `country.header`", "remove one of the two");
        }
        if header.is_some() && self.ingest.proxies.is_empty() {
            let problem = "has no effect without `ingest.proxies`";
            found.add_beside(
                "country.header",
                &["ingest.proxies"],
                problem,
                "list the proxies that write it, or remove it",
            );
        }
        if header.is_none()
            && let Some(path) = mmdb
            && let Err(error) = country_database::read(path)
        {
            let remedy = "write the path of a file such as GeoLite2-Country.mmdb";
            found.add("country.mmdb", format!("cannot be used: {error}"), remedy);
        }
    }

    fn check_numbers(&self, found: &mut Found) {
        for (field, value) in [
            ("journal.wait_seconds", self.journal.wait_seconds as usize),
            ("server.wait_seconds", self.server.wait_seconds as usize),
            ("ingest.body_bytes", self.ingest.body_bytes),
            ("ingest.body_seconds", self.ingest.body_seconds as usize),
            ("ingest.head_seconds", self.ingest.head_seconds as usize),
            ("ingest.answer_seconds", self.ingest.answer_seconds as usize),
            ("ingest.connections", self.ingest.connections),
            ("ingest.network_connections", self.ingest.network_connections),
            ("ingest.bodies_bytes", self.ingest.bodies_bytes),
            ("ingest.queue_batches", self.ingest.queue_batches),
            ("ingest.queue_bytes", self.ingest.queue_bytes),
            ("limits.models", self.limits.models),
            ("limits.providers", self.limits.providers),
            ("limits.use_cases", self.limits.use_cases),
            ("limits.metrics_series", self.limits.metrics_series),
            ("limits.metrics_bytes", self.limits.metrics_bytes),
            ("limits.series", self.limits.series),
            ("limits.window_series", self.limits.window_series),
            ("dedupe.ids", self.dedupe.ids),
            ("dedupe.minutes", self.dedupe.minutes as usize),
            ("store.streams_kept", self.store.streams_kept as usize),
            ("store.windows_hours", self.store.windows_hours as usize),
            ("store.history_days", self.store.history_days as usize),
            ("store.row_file_streams", self.store.row_file_streams as usize),
            ("slo.days", self.slo.days as usize),
            ("otlp.every_seconds", self.otlp.every_seconds as usize),
            ("country.look_seconds", self.country.look_seconds as usize),
        ] {
            if value == 0 {
                found.add(field, "is 0", "write a whole number of at least 1, or remove it for the default");
            }
        }
        if self.ingest.connections > MOST_CONNECTIONS {
            let remedy = "write at most the limit of open files";
            found.add("ingest.connections", "is more than 1000000", remedy);
        }
        if self.ingest.notice_seconds > LONGEST_NOTICE_SECONDS {
            let remedy =
                "write the seconds in which the load balancer notices that `/readyz` fails, such as 5";
            found.add("ingest.notice_seconds", "is more than 600 seconds", remedy);
        }
        for (field, value) in [
            ("ingest.bodies_bytes", self.ingest.bodies_bytes),
            ("ingest.queue_bytes", self.ingest.queue_bytes),
        ] {
            if (1..self.ingest.body_bytes).contains(&value) {
                let problem = "is less than `ingest.body_bytes`, so the longest body never fits";
                found.add_beside(
                    field,
                    &["ingest.body_bytes"],
                    problem,
                    "raise it, or lower `ingest.body_bytes`",
                );
            }
        }
        if self.memory_bytes.is_some_and(|bytes| bytes < LEAST_MEMORY_BYTES) {
            found.add(
                "memory_bytes",
                "is less than 201326592 (192 MiB), too little for the defaults",
                "raise it, or remove it for the default",
            );
        }
        if self.store.samples > MOST_SAMPLES {
            found.add("store.samples", "is more than 1000 per day", "write a number from 0 to 1000");
        }
        if self.settle_after_seconds >= self.dedupe.minutes.saturating_mul(60) {
            let problem = "is not shorter than `dedupe.minutes`, so open streams would be lost";
            found.add_beside(
                "settle_after_seconds",
                &["dedupe.minutes"],
                problem,
                "lower it, or raise `dedupe.minutes`",
            );
        }
        if self.dedupe.minutes >= self.store.windows_hours.saturating_mul(60) {
            let problem = "is not shorter than `store.windows_hours`, so windows would be deleted too early";
            found.add_beside(
                "dedupe.minutes",
                &["store.windows_hours"],
                problem,
                "lower it, or raise `store.windows_hours`",
            );
        }
        if self.store.history_days.saturating_mul(24) < self.store.windows_hours {
            let problem = "is shorter than `store.windows_hours`, but minutes are rolled up into its hours";
            found.add_beside(
                "store.history_days",
                &["store.windows_hours"],
                problem,
                "raise it, or lower `store.windows_hours`",
            );
        }
    }
}

fn check_clickhouse(clickhouse: &ClickHouse, found: &mut Found) {
    if !is_http(&clickhouse.url) || clickhouse.url.contains(['?', '@']) {
        let remedy = "write `http://clickhouse:8123`, and the credentials in `user` and `password`";
        found.add("store.clickhouse.url", "is not a valid address of an HTTP interface", remedy);
    }
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    if clickhouse.database.is_empty() || !clickhouse.database.chars().all(is_name) {
        let remedy = "use only the characters A-Z a-z 0-9 _";
        found.add("store.clickhouse.database", "is not a valid database name", remedy);
    }
    let is_plain = |text: &[u8]| text.iter().all(|byte| (0x20..0x7f).contains(byte));
    if clickhouse.password.as_ref().is_some_and(|password| !is_plain(password.bytes())) {
        found.add("store.clickhouse.password", "is not a valid header value", "use only printable ASCII");
    }
    if clickhouse.user.is_empty() || !is_plain(clickhouse.user.as_bytes()) {
        found.add("store.clickhouse.user", "is not a valid user name", "use only printable ASCII");
    }
    for (field, value) in [
        ("store.clickhouse.publish_seconds", clickhouse.publish_seconds),
        ("store.clickhouse.timeout_seconds", clickhouse.timeout_seconds),
    ] {
        if value == 0 || value > 3_600 {
            found.add(
                field,
                "is 0 or more than 3600 seconds",
                "write 1 to 3600, or remove it for the default",
            );
        }
    }
}

fn check_site<'a>(
    at: &str,
    site: &'a Site,
    names: &mut HashSet<&'a str>,
    keys: &mut HashSet<&'a str>,
    found: &mut Found,
) {
    for (field, word) in [("name", &site.name), ("use_case", &site.use_case)] {
        if !is_word(word) {
            found.add(format!("{at}.{field}"), NO_WORD, WORD);
        }
    }
    if !names.insert(&site.name) {
        found.add(format!("{at}.name"), "is the name of two sites", "give each site its own name");
    }
    if site.keys.is_empty() {
        found.add(format!("{at}.keys"), "is empty, so no page can send", "write at least one public key");
    }
    if site.origins.is_empty() {
        let problem = "is empty, so no page can send";
        found.add(format!("{at}.origins"), problem, "write the origins of the site's pages, or `loopback`");
    }
    for key in &site.keys {
        if !is_word(key) {
            found.add(format!("{at}.keys"), NO_WORD, WORD);
        }
        if !keys.insert(key) {
            let problem = format!("contains the key `{key}`, which is used twice");
            found.add(format!("{at}.keys"), problem, "give each site its own keys");
        }
    }
    if !(site.sample > 0.0 && site.sample <= 1.0) {
        found.add(
            format!("{at}.sample"),
            "is not a valid share",
            "write a number greater than 0 and at most 1",
        );
    }
    let attributes: HashSet<_> = site.attributes.iter().collect();
    if site.attributes.len() > MAX_ATTRIBUTES || attributes.len() < site.attributes.len() {
        let problem = format!("has more than {MAX_ATTRIBUTES} keys, or one of them twice");
        found.add(format!("{at}.attributes"), problem, "remove keys");
    }
    for key in site.attributes.iter().filter(|key| !is_attribute_key(key)) {
        let remedy = "write up to 32 small letters, digits and `_`, with a letter first";
        found.add(format!("{at}.attributes"), format!("contains `{key}`, which is no key"), remedy);
    }
    for (name, template) in &site.links {
        let at = format!("{at}.links.{name}");
        if site.links.len() > MOST_LINKS || name.is_empty() || name.len() > LONGEST_LINK_NAME {
            let problem = "is one of more than 5, or has a name that is empty or over 32 bytes";
            found.add(at, problem, "remove it, or shorten its name");
        } else if let Some(problem) = template.problem() {
            found.add(at, problem, "write `https://…` with `{trace_id}`, `{response_id}` or `{stream_id}`");
        }
    }
    if site.filters.own_tests.iter().any(String::is_empty) {
        let problem = "contains an empty text, which is part of every user agent";
        found.add(format!("{at}.filters.own_tests"), problem, "write a part of the user agent of your tests");
    }
    if let Some(rate) = site.rate {
        found.rate(&format!("{at}.rate"), rate);
    }
}

fn is_http(url: &str) -> bool {
    let is_http = |uri: Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
    url.parse().is_ok_and(is_http)
}

/// Each has a thread of its own.
const MOST_LINKS: usize = 5;
const LONGEST_LINK_NAME: usize = 32;
const MOST_ENGINES: usize = 20;

/// Far above the number of files that a process may open, and below the maximum of a semaphore.
const MOST_CONNECTIONS: usize = 1_000_000;
const LONGEST_NOTICE_SECONDS: u32 = 600;
/// Each is a report in memory until it is stored, and a row as long as the history.
const MOST_READING_SPEEDS: usize = 10;
const MOST_SAMPLES: u32 = 1_000;

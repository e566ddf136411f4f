//! One TOML file in, one checked [`Config`] out, read once in `main`. Without a file: loopback only,
//! one site `demo`, SQLite in `./llm-rum-data`.

use std::collections::{BTreeMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use axum::http::HeaderName;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::network::Proxy;
use crate::origin::Origin;
use crate::pace::Rate;
use crate::slo::Targets;

/// Everything an operator can choose.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Address to listen on. Default `127.0.0.1:8787`; any other than loopback needs `admin_token`.
    pub listen: SocketAddr,
    /// Folder of the SQLite file and the journal. Default `./llm-rum-data`; made when missing.
    pub data: PathBuf,
    /// Whoever shows it may read the dashboard's data and `/metrics`. Default none: then only
    /// requests to a loopback host are answered. At least 16 bytes.
    pub admin_token: Option<Secret>,
    /// Further tokens that may read, for those who shall not have the admin's: each can be given to one
    /// reader and taken back alone. Default none. At least 16 bytes each; they need an `admin_token`.
    pub read_tokens: Vec<Secret>,
    /// An open stream without a newer revision for so long is counted as what it last said.
    /// Default 120.
    pub settle_after_seconds: u32,
    /// How beacons are kept before they are answered.
    pub journal: Journal,
    /// The front door.
    pub ingest: Ingest,
    /// How many label values a site may bring; the rest is counted as `other`.
    pub limits: Limits,
    /// How long a stream's id is remembered.
    pub dedupe: Dedupe,
    /// How much is kept on disk.
    pub store: Store,
    /// Who may send. Default one site `demo` for pages on loopback origins.
    pub sites: Vec<Site>,
    /// Targets by use case; what a table here leaves out keeps its default. See `docs/api.md`.
    pub targets: BTreeMap<String, Targets>,
}

/// How beacons are kept before they are answered.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Journal {
    /// `full` (default) survives a power cut, `normal` only the death of the process.
    pub sync: Sync,
}

/// What an answered beacon survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// A power cut: every commit waits for the disk.
    #[default]
    Full,
    /// kill -9: every commit is with the operating system.
    Normal,
}

/// The front door.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ingest {
    /// Longest body. Default 262144.
    pub body_bytes: usize,
    /// A body must be whole within this. Default 10.
    pub body_seconds: u32,
    /// A request head must be whole within this, idle connections included. Default 30.
    pub head_seconds: u32,
    /// An answer must be taken within this, once the client has let it wait. Default 60.
    pub answer_seconds: u32,
    /// Most connections at a time; further ones wait in the system's queue. Default 2048.
    pub connections: usize,
    /// Most connections of one client network; further ones are closed. Default 256.
    pub network_connections: usize,
    /// Most beacons of one client network: the first 24 bits of an IPv4 address, the first 48 of an
    /// IPv6 address. Default 500 per second. This machine's own are not counted.
    pub network_rate: Rate,
    /// Proxies in front. Default none.
    pub proxies: Vec<Proxy>,
    /// Header in which `proxies` say whom they speak for. Default none: then what comes through a proxy
    /// is of no network. From anyone else the header means nothing.
    #[serde(deserialize_with = "header_name")]
    pub client_header: Option<HeaderName>,
    /// Most memory for bodies that are being read; more are answered 503. Default 67108864.
    pub bodies_bytes: usize,
    /// Most batches that wait for the journal; more are answered 503. Default 4096.
    pub queue_batches: usize,
    /// Most bytes that wait for the journal; more are answered 503. Default 33554432.
    pub queue_bytes: usize,
}

/// How many label values a site may bring.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Models per site. Default 100.
    pub models: usize,
    /// Providers per site. Default 20.
    pub providers: usize,
    /// Use cases per site. Default 20.
    pub use_cases: usize,
    /// Combinations of the three per site. Default 2000.
    pub series: usize,
}

/// How long a stream's id is remembered, so that a report sent twice is counted once.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dedupe {
    /// Most revisions remembered. Default 200000.
    pub ids: usize,
    /// Longest time since a stream's last revision. Default 30.
    pub minutes: u32,
}

/// How much is kept on disk.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// Single streams, the newest. Default 50000.
    pub streams_kept: u32,
    /// One-minute windows. Default 48.
    pub windows_hours: u32,
    /// Days of hourly and daily windows, which longer ranges are answered from. Default 400.
    pub history_days: u32,
}

/// Who may send.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Name in labels and on the dashboard.
    pub name: String,
    /// Public keys that name it in `?site=`. Several, so that one can be replaced without loss.
    pub keys: Vec<String>,
    /// Origins whose pages may send: `https://app.example`, `https://*.app.example`, `loopback`.
    pub origins: Vec<Origin>,
    /// Use case of reports that name none. Default `chat`.
    #[serde(default = "chat")]
    pub use_case: String,
    /// Most beacons of all its pages. Default no bound but the machine's.
    #[serde(default)]
    pub rate: Option<Rate>,
}

/// A configured secret: it prints as nothing.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret's bytes, for comparing.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no TOML, or has a field or a value that does not exist.
    #[error("{path}: {source}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, column and what was expected.
        source: toml::de::Error,
    },
    /// Anyone on the network could read the data.
    #[error(
        "refusing to listen on {0}: it is not a loopback address, and without `admin_token` anyone who \
         reaches it could read the data; set `admin_token` in the configuration, or listen on 127.0.0.1"
    )]
    Exposed(SocketAddr),
    /// A value that cannot be.
    #[error("`{field}` {problem}")]
    Value {
        /// Which.
        field: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// When the file cannot be read, or [`check`](Self::check) finds a mistake.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text =
            fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.into(), source })?;
        toml::from_str(&text).map_err(|source| ConfigError::Parse { path: path.into(), source })
    }

    /// Whether a collector may start with these values.
    ///
    /// # Errors
    /// Names the first mistake.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !self.listen.ip().is_loopback() && self.admin_token.is_none() {
            return Err(ConfigError::Exposed(self.listen));
        }
        if self.admin_token.as_ref().is_some_and(|token| token.bytes().len() < 16) {
            return mistake("admin_token", "is shorter than 16 bytes");
        }
        if self.read_tokens.iter().any(|token| token.bytes().len() < 16) {
            return mistake("read_tokens", "has one shorter than 16 bytes");
        }
        if self.admin_token.is_none() && !self.read_tokens.is_empty() {
            return mistake("read_tokens", "has no effect without `admin_token`");
        }
        self.check_sites()?;
        self.check_numbers()?;
        for (use_case, targets) in &self.targets {
            if let Some(field) = targets.mistake() {
                return mistake(format!("targets.{use_case}.{field}"), "cannot be a target");
            }
        }
        Ok(())
    }

    /// Targets of a use case: the configured ones over the default profile.
    #[must_use]
    pub fn targets(&self, use_case: &str) -> Targets {
        let base = Targets::of(use_case);
        self.targets.get(use_case).map_or(base, |own| own.or(base))
    }

    fn check_sites(&self) -> Result<(), ConfigError> {
        if self.sites.is_empty() {
            return mistake("sites", "is empty: nobody could send");
        }
        let (mut names, mut keys) = (HashSet::new(), HashSet::new());
        for (index, site) in self.sites.iter().enumerate() {
            let field = |name: &str| format!("sites[{index}].{name}");
            if !is_word(&site.name) {
                return mistake(field("name"), WORD);
            }
            if !is_word(&site.use_case) {
                return mistake(field("use_case"), WORD);
            }
            if !names.insert(&site.name) {
                return mistake(field("name"), "names a second site");
            }
            if site.keys.is_empty() {
                return mistake(field("keys"), "is empty: nobody could send");
            }
            if let Some(problem) = site.rate.and_then(Rate::mistake) {
                return mistake(field("rate"), problem);
            }
            for key in &site.keys {
                if !is_word(key) {
                    return mistake(field("keys"), WORD);
                }
                if !keys.insert(key) {
                    return mistake(field("keys"), "has a key that stands twice");
                }
            }
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), ConfigError> {
        if let Some(problem) = self.ingest.network_rate.mistake() {
            return mistake("ingest.network_rate", problem);
        }
        let at_least_one = [
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
            ("limits.series", self.limits.series),
            ("dedupe.ids", self.dedupe.ids),
            ("dedupe.minutes", self.dedupe.minutes as usize),
            ("store.streams_kept", self.store.streams_kept as usize),
            ("store.windows_hours", self.store.windows_hours as usize),
            ("store.history_days", self.store.history_days as usize),
        ];
        if let Some((field, _)) = at_least_one.into_iter().find(|(_, value)| *value == 0) {
            return mistake(field, "is 0");
        }
        if self.settle_after_seconds >= self.dedupe.minutes.saturating_mul(60) {
            return mistake(
                "settle_after_seconds",
                "is not below `dedupe.minutes`: open streams would be lost",
            );
        }
        if self.dedupe.minutes >= self.store.windows_hours.saturating_mul(60) {
            return mistake("dedupe.minutes", "is not below `store.windows_hours`: windows would be gone");
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            data: PathBuf::from("llm-rum-data"),
            admin_token: None,
            read_tokens: Vec::new(),
            settle_after_seconds: 120,
            journal: Journal::default(),
            ingest: Ingest::default(),
            limits: Limits::default(),
            dedupe: Dedupe::default(),
            store: Store::default(),
            sites: vec![Site {
                name: "demo".to_owned(),
                keys: vec!["demo".to_owned()],
                origins: vec![Origin::Loopback],
                use_case: chat(),
                rate: None,
            }],
            targets: BTreeMap::new(),
        }
    }
}

impl Default for Ingest {
    fn default() -> Self {
        Self {
            body_bytes: 256 * 1024,
            body_seconds: 10,
            head_seconds: 30,
            answer_seconds: 60,
            connections: 2048,
            network_connections: 256,
            network_rate: Rate { per_second: 500, burst: None },
            proxies: Vec::new(),
            client_header: None,
            bodies_bytes: 64 * 1024 * 1024,
            queue_batches: 4096,
            queue_bytes: 32 * 1024 * 1024,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { models: 100, providers: 20, use_cases: 20, series: 2000 }
    }
}

impl Default for Dedupe {
    fn default() -> Self {
        Self { ids: 200_000, minutes: 30 }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self { streams_kept: 50_000, windows_hours: 48, history_days: 400 }
    }
}

fn header_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<HeaderName>, D::Error> {
    let name = String::deserialize(from)?;
    HeaderName::try_from(name).map(Some).map_err(|_| D::Error::custom("this is no name of a header"))
}

fn chat() -> String {
    "chat".to_owned()
}

const WORD: &str = "is not 1 to 64 of the characters A-Z a-z 0-9 . _ -";

fn is_word(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

fn mistake<T>(field: impl Into<String>, problem: &'static str) -> Result<T, ConfigError> {
    Err(ConfigError::Value { field: field.into(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(toml: &str, complaint: &str) {
        let said = match toml::from_str::<Config>(toml) {
            Ok(config) => config.check().unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(said.contains(complaint), "{toml}: {said}");
    }

    #[test]
    fn no_configuration_is_a_valid_one() {
        Config::default().check().unwrap();
        toml::from_str::<Config>("").unwrap().check().unwrap();
    }

    #[test]
    fn a_mistake_is_named() {
        check("listen = '0.0.0.0:8787'", "without `admin_token`");
        check("admin_token = 'short'", "shorter than 16");
        check("admin_token = '0123456789abcdef'\nread_tokens = ['short']", "shorter than 16");
        check("read_tokens = ['0123456789abcdef']", "without `admin_token`");
        check("lisen = '127.0.0.1:1'", "unknown field `lisen`");
        check("[journal]\nsync = 'sometimes'", "unknown variant `sometimes`");
        check("sites = []", "nobody could send");
        check("[[sites]]\nname = 'a b'\nkeys = ['k']\norigins = []", "sites[0].name");
        check("[[sites]]\nname = 'a'\nkeys = ['k', 'k']\norigins = []", "stands twice");
        check("[[sites]]\nname = 'a'\nkeys = ['k']\norigins = ['app.example']", "origin");
        check("[limits]\nmodels = 0", "limits.models");
        check("settle_after_seconds = 1800", "open streams would be lost");
        check("[targets.chat]\nttft_p95_ms = -1", "targets.chat.ttft_p95_ms");
    }

    #[test]
    fn a_token_does_not_print() {
        let config = Config { admin_token: Some("0123456789abcdef".into()), ..Config::default() };
        assert!(!format!("{config:?}").contains("0123456789abcdef"));
    }
}

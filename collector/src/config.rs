//! Everything that an operator can choose. `load.rs` reads it from a TOML file and the environment, `validate.rs`
//! checks it. The default: loopback only, one site `demo`, data in `./llm-rum-data`.

pub(crate) mod country_database;
pub(crate) mod error;
pub(crate) mod filters;
pub(crate) mod load;
pub(crate) mod model_name;
pub(crate) mod origin;
pub(crate) mod proxy;
pub(crate) mod rate;
pub(crate) mod secret;
pub(crate) mod targets;
mod validate;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use axum::http::HeaderName;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use filters::Filters;
use origin::Origin;
use proxy::Proxy;
use rate::Rate;
use secret::Secret;
use targets::Targets;

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
    /// The ingest endpoint.
    pub ingest: Ingest,
    /// How many label values a site may bring; the rest is counted as `other`.
    pub limits: Limits,
    /// How long a stream's id is remembered.
    pub dedupe: Dedupe,
    /// How much is kept on disk.
    pub store: Store,
    /// Who may send. Default one site `demo` for pages on loopback origins.
    pub sites: Vec<Site>,
    /// Names that models are counted under, by the name as sent or its beginning and `*`:
    /// `"gpt-5-2026-*" = "gpt-5"`. Default none.
    pub models: BTreeMap<String, String>,
    /// Targets by use case; what a table here leaves out keeps its default. See `docs/configuration.md`.
    pub targets: BTreeMap<String, Targets>,
    /// The period of error budgets.
    pub slo: Slo,
    /// Where metrics are pushed to. Default nowhere.
    pub otlp: Otlp,
    /// What says which country a beacon comes from. Default nothing: then all are of none.
    pub country: CountryFrom,
}

/// What says which country a beacon comes from: one of these.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CountryFrom {
    /// Header in which `ingest.proxies` write the code, such as `CF-IPCountry`. Default none. From anyone
    /// else it means nothing.
    #[serde(deserialize_with = "header_name")]
    pub header: Option<HeaderName>,
    /// File of the MaxMind DB format with countries, such as GeoLite2-Country. Default none. Read at the
    /// start and when another takes its place, and held in memory; asked for the client's network, not for
    /// its address.
    pub mmdb: Option<PathBuf>,
    /// After so many seconds it is looked whether another has taken its place. Default 60.
    pub look_seconds: u32,
}

/// Pushing what Prometheus would be told, by OTLP/HTTP.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Otlp {
    /// `http://` or `https://`; `/v1/metrics` is appended. Default none: nothing is pushed.
    pub endpoint: Option<String>,
    /// Sent with every push, such as `authorization`. Default none.
    pub headers: BTreeMap<String, Secret>,
    /// Default 60.
    pub every_seconds: u32,
    /// What a number counts. Default `cumulative`.
    pub temporality: Temporality,
    /// `service.instance.id`, by which counters of several collectors are told apart: it has to stay the same
    /// over restarts. Default the host's name.
    pub instance: String,
}

/// What a pushed number counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Temporality {
    /// Everything since ever.
    #[default]
    Cumulative,
    /// What has come since the push before.
    Delta,
}

/// The period of error budgets.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Slo {
    /// The newest so many days, at most `store.history_days`. Default 30.
    pub days: u32,
}

/// How beacons are kept before they are answered.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Journal {
    /// `full` (default) survives a power cut, `normal` only the death of the process.
    pub sync: Sync,
    /// A beacon that the disk has not taken within this is answered 503, and may be kept all the same.
    /// Default 10.
    pub wait_seconds: u32,
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

/// The ingest endpoint.
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
    /// Most reports of one client network: the first 24 bits of an IPv4 address, the first 48 of an IPv6
    /// address. Default 500 per second. This machine's own are not counted.
    pub network_rate: Rate,
    /// Proxies in front. Default none.
    pub proxies: Vec<Proxy>,
    /// Header in which `proxies` say whom they speak for, as addresses. Default none: then what comes through
    /// a proxy is of no network. From anyone else the header means nothing.
    #[serde(deserialize_with = "header_name")]
    pub client_header: Option<HeaderName>,
    /// Most memory for bodies that are being read, and an eighth of it for those of one client network (one
    /// body at least); more are answered 503. Default 67108864.
    pub bodies_bytes: usize,
    /// Most batches that wait for the journal; more are answered 503. Default 4096.
    pub queue_batches: usize,
    /// Most bytes that wait for the journal; more are answered 503. Default 16777216.
    pub queue_bytes: usize,
    /// Once told to stop, `/readyz` is 503 for so long before no more connections are taken: the time in which a
    /// load balancer learns of it. Default 0.
    pub notice_seconds: u32,
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
    /// Combinations of the three with a country, per site. Default 2000.
    pub country_series: usize,
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
    /// Single streams, the newest; fewer where more than four reports of each came. Default 50000.
    pub streams_kept: u32,
    /// Single streams kept beside them for `history_days`: so many of the slowest, of the failed and of all
    /// by lot, for each site and day (UTC). Default 20; 0 keeps none.
    pub samples: u32,
    /// One-minute windows. Default 48.
    pub windows_hours: u32,
    /// Days of hourly and daily windows, which longer ranges are answered from. Default 400.
    pub history_days: u32,
    /// Where several collectors put their shares together. Default none: this collector is alone.
    pub clickhouse: Option<ClickHouse>,
}

/// Where several collectors put their shares together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClickHouse {
    /// Address of its HTTP interface: `http://clickhouse:8123`, or `https`.
    pub url: String,
    /// Database of the tables; made when missing. Default `llm_rum`.
    #[serde(default = "database")]
    pub database: String,
    /// Default `default`.
    #[serde(default = "user")]
    pub user: String,
    /// Default none.
    #[serde(default)]
    pub password: Option<Secret>,
    /// What is new is published so often. Default 5.
    #[serde(default = "five")]
    pub publish_seconds: u32,
    /// Longest wait for an answer. Default 10.
    #[serde(default = "ten")]
    pub timeout_seconds: u32,
}

/// Who may send.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Name in labels and on the dashboard.
    pub name: String,
    /// Public keys that name it in `?site=`. Several, so that one can be replaced without loss.
    pub keys: Vec<String>,
    /// Origins whose pages may send: `https://app.example`, `https://*.app.example`, `loopback`, of an app
    /// `capacitor://localhost`.
    pub origins: Vec<Origin>,
    /// Use case of reports that name none. Default `chat`.
    #[serde(default = "chat")]
    pub use_case: String,
    /// Most good beacons of all its pages. Default no bound but the machine's.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Share of streams that are counted, above 0 and up to 1, chosen by their ids. Default 1.
    #[serde(default = "all")]
    pub sample: f64,
    /// What is of no user. Default bots and prerendered pages.
    #[serde(default)]
    pub filters: Filters,
    /// Targets by use case that go over the common ones.
    #[serde(default)]
    pub targets: BTreeMap<String, Targets>,
}

impl Config {
    /// Days of an error budget that are known.
    #[must_use]
    pub fn budget_days(&self) -> u32 {
        self.slo.days.min(self.store.history_days)
    }

    /// Targets of a use case: the site's over the common ones over the default profile.
    #[must_use]
    pub fn targets(&self, site: Option<&str>, use_case: &str) -> Targets {
        let profile = Targets::of(use_case);
        let common = self.targets.get(use_case).map_or(profile, |own| own.or(profile));
        let site = self.sites.iter().find(|known| Some(known.name.as_str()) == site);
        site.and_then(|site| site.targets.get(use_case)).map_or(common, |own| own.or(common))
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
                sample: all(),
                filters: Filters::none(),
                targets: BTreeMap::new(),
            }],
            models: BTreeMap::new(),
            targets: BTreeMap::new(),
            slo: Slo::default(),
            otlp: Otlp::default(),
            country: CountryFrom::default(),
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
            queue_bytes: 16 * 1024 * 1024,
            notice_seconds: 0,
        }
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self { sync: Sync::default(), wait_seconds: 10 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { models: 100, providers: 20, use_cases: 20, series: 2000, country_series: 2000 }
    }
}

impl Default for Dedupe {
    fn default() -> Self {
        Self { ids: 200_000, minutes: 30 }
    }
}

impl Default for Otlp {
    fn default() -> Self {
        // A hardened service has no `/proc/sys`.
        let names = ["/proc/sys/kernel/hostname", "/etc/hostname"];
        let host = names.iter().find_map(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        Self {
            endpoint: None,
            headers: BTreeMap::new(),
            every_seconds: 60,
            temporality: Temporality::default(),
            instance: host.trim().to_owned(),
        }
    }
}

impl Default for Slo {
    fn default() -> Self {
        Self { days: 30 }
    }
}

impl Default for CountryFrom {
    fn default() -> Self {
        Self { header: None, mmdb: None, look_seconds: 60 }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self { streams_kept: 50_000, samples: 20, windows_hours: 48, history_days: 400, clickhouse: None }
    }
}

fn header_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<HeaderName>, D::Error> {
    let name = String::deserialize(from)?;
    HeaderName::try_from(name)
        .map(Some)
        .map_err(|_| D::Error::custom("it is not a header name: write one such as `x-forwarded-for`"))
}

fn database() -> String {
    "llm_rum".to_owned()
}

fn user() -> String {
    "default".to_owned()
}

const fn five() -> u32 {
    5
}

const fn ten() -> u32 {
    10
}

const fn all() -> f64 {
    1.0
}

fn chat() -> String {
    "chat".to_owned()
}

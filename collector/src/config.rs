//! Everything that an operator can choose. `load.rs` reads it from a TOML file and the environment, `validate.rs`
//! checks it. The default: loopback only, one site `demo`, data in `./llm-rum-data`.

pub(crate) mod country_database;
pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod filters;
mod hints;
pub(crate) mod link_template;
pub(crate) mod load;
pub(crate) mod model_name;
pub(crate) mod notify;
pub(crate) mod origin;
pub(crate) mod proxy;
pub(crate) mod rate;
pub(crate) mod secret;
pub(crate) mod severity;
pub(crate) mod targets;
pub(crate) mod token;
mod validate;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use axum::http::HeaderName;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use engine::Engine;
use filters::Filters;
use link_template::LinkTemplate;
use notify::Notify;
use origin::Origin;
use proxy::Proxy;
use rate::Rate;
use secret::Secret;
use targets::{OwnTargets, Targets};
use token::{Scope, Token};

/// Everything an operator can choose.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Address to listen on. Default `127.0.0.1:8787`; any other than loopback needs `tokens`.
    pub listen: SocketAddr,
    /// Folder of the SQLite file and the journal. Default `./llm-rum-data`; made when missing.
    pub data: PathBuf,
    /// Tokens that allow reading the dashboard's data or `/metrics`, one for each reader. Default none: then only
    /// requests to a loopback host are served.
    pub tokens: Vec<Token>,
    /// A proxy in front that signs readers in. Default none.
    pub auth_proxy: AuthProxy,
    /// Memory that the whole process may use, in bytes. Near it, windows are stored early, queries are refused, and then
    /// beacons. Default: the limit of its cgroup, or half of the machine's memory.
    pub memory_bytes: Option<usize>,
    /// Seconds without a newer revision after which an open stream is finalized with its last one.
    /// Default 120.
    pub settle_after_seconds: u32,
    /// How beacons are stored before the response.
    pub journal: Journal,
    /// The ingest endpoint.
    pub ingest: Ingest,
    /// How many label values a site may have; further ones are counted as `other`.
    pub limits: Limits,
    /// How long a stream's id is remembered.
    pub dedupe: Dedupe,
    /// How much is kept on disk.
    pub store: Store,
    /// Sites whose pages may send. Default one site `demo` for pages on loopback origins.
    pub sites: Vec<Site>,
    /// Names under which models are counted, by the name as sent, or by a prefix and `*`:
    /// `"gpt-5-2026-*" = "gpt-5"`. Default none.
    pub models: BTreeMap<String, String>,
    /// Targets by use case; a table keeps the defaults of targets that it leaves out. See
    /// `docs/configuration.md`.
    pub targets: BTreeMap<String, OwnTargets>,
    /// The period of error budgets.
    pub slo: Slo,
    /// Reading speeds in output tokens per second. Summaries count the streams that are slower than each.
    /// Default 5 and 10.
    pub reading_speeds: Vec<f64>,
    /// Where metrics are pushed to. Default: nowhere.
    pub otlp: Otlp,
    /// Receivers of notifications about alerts. Default none.
    pub notify: Vec<Notify>,
    /// Inference engines whose metrics are read, at most 20. Default none.
    pub engines: Vec<Engine>,
    /// Address of the dashboard for links in notifications: `https://rum.example`. Default none: then they have none.
    pub public_url: Option<String>,
    /// Timings that the backend sends.
    pub server: ServerTimings,
    /// Source of a beacon's country. Default none: then no beacon has a country.
    pub country: CountryFrom,
}

/// A proxy in front that signs readers in, such as oauth2-proxy or Authelia.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthProxy {
    /// Header in which `ingest.proxies` name the signed-in user, such as `X-Forwarded-User`. Such a user may read
    /// everything. It is ignored if any other client sends it. Default none.
    #[serde(deserialize_with = "header_name")]
    pub header: Option<HeaderName>,
}

/// Source of a beacon's country: one of these.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CountryFrom {
    /// Header in which `ingest.proxies` send the country code, such as `CF-IPCountry`. It is ignored if any
    /// other client sends it. Default none.
    #[serde(deserialize_with = "header_name")]
    pub header: Option<HeaderName>,
    /// MaxMind DB file with countries, such as GeoLite2-Country. It is kept in memory, and read at the start
    /// and whenever it is replaced. Lookups use the client's network, not its address. Default none.
    pub mmdb: Option<PathBuf>,
    /// Seconds between two checks whether the file was replaced. Default 60.
    pub look_seconds: u32,
}

/// Pushes the Prometheus metrics by OTLP/HTTP.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Otlp {
    /// `http://` or `https://`; `/v1/metrics` is appended. Default none: nothing is pushed.
    pub endpoint: Option<String>,
    /// Headers of every push, such as `authorization`. Default none.
    pub headers: BTreeMap<String, Secret>,
    /// Seconds between two pushes. Default 60.
    pub every_seconds: u32,
    /// Range of a pushed count. Default `cumulative`.
    pub temporality: Temporality,
    /// Names of the metrics that the conventions for generative AI renamed. Default `operation`.
    pub names: OtlpNames,
    /// `service.instance.id`, which distinguishes the counters of several collectors. It must stay the same
    /// over restarts. Default the host's name.
    pub instance: String,
}

/// Names of the metrics that OpenTelemetry's conventions for generative AI renamed in 2026-09.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtlpNames {
    /// `gen_ai.client.operation.…`, which released SDKs and dashboards use.
    #[default]
    Operation,
    /// `gen_ai.client.inference.…`, and the counters of tokens that came with it.
    Inference,
}

/// Range of a pushed count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Temporality {
    /// Everything since the store was created.
    #[default]
    Cumulative,
    /// The change since the previous push.
    Delta,
}

/// The period of error budgets.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Slo {
    /// Its length: the most recent days, at most `store.history_days`. Default 30.
    pub days: u32,
}

/// Timings that the backend sends. The routes are open to tokens with the scope `server_timings`, and on a machine of
/// a developer without one.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerTimings {
    /// Seconds that a timing and the report of its stream wait for each other. Default 300.
    pub wait_seconds: u32,
    /// Key of the hashes that replace the ids of responses, at least 16 bytes. Default none: the ids stay.
    pub hash_key: Option<Secret>,
    /// A collector without sign-in takes timings that programs send to a loopback host. Default false.
    pub without_token: bool,
}

/// How beacons are stored before the response.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Journal {
    /// `full` (default) survives a power cut, `normal` only the death of the process.
    pub sync: Sync,
    /// Seconds after which a beacon that is not on the disk is answered 503. It may be stored all the same.
    /// Default 10.
    pub wait_seconds: u32,
}

/// Failures that an accepted beacon survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// A power cut: every commit waits for the disk.
    #[default]
    Full,
    /// `kill -9`: every commit is in the operating system's page cache.
    Normal,
}

/// The ingest endpoint.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ingest {
    /// Longest body, in bytes. Default 262144.
    pub body_bytes: usize,
    /// Seconds within which a body must be complete. Default 10.
    pub body_seconds: u32,
    /// Seconds within which a request head must be complete. It limits idle connections too. Default 30.
    pub head_seconds: u32,
    /// Seconds within which a client must read a part of a response, once it has kept the collector waiting.
    /// Default 60.
    pub answer_seconds: u32,
    /// Most connections at a time; further ones wait in the system's queue. Default 2048.
    pub connections: usize,
    /// Most connections of one client network; further ones are closed. Default 256.
    pub network_connections: usize,
    /// Rate limit for the reports of one client network: the first 24 bits of an IPv4 address, the first 48
    /// of an IPv6 address. Default 500 per second. Requests from this machine share the rate of clients that no
    /// proxy names.
    pub network_rate: Rate,
    /// Whether requests from this machine that no proxy has forwarded are without limits, such as those of a load
    /// test. Default false.
    pub trust_loopback: bool,
    /// Proxies in front of the collector. Default none.
    pub proxies: Vec<Proxy>,
    /// Header in which `proxies` name their clients' addresses. It is ignored if any other client sends it.
    /// Default none: then all requests through a proxy share one rate.
    #[serde(deserialize_with = "header_name")]
    pub client_header: Option<HeaderName>,
    /// Most memory for bodies that are being read, in bytes. One client network may use an eighth of it, but
    /// at least one body. Further bodies are answered 503. Default 67108864.
    pub bodies_bytes: usize,
    /// Most batches that wait for the journal; further ones are answered 503. Default 4096.
    pub queue_batches: usize,
    /// Most bytes that wait for the journal; further batches are answered 503. Default 16777216.
    pub queue_bytes: usize,
    /// Seconds between a stop signal and the end of accepting connections. `/readyz` is 503 meanwhile, so
    /// that a load balancer notices. Default 0.
    pub notice_seconds: u32,
}

/// How many label values a site may have.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Models per site, and as many response models. Default 100.
    pub models: usize,
    /// Providers per site. Default 20.
    pub providers: usize,
    /// Use cases per site. Default 20.
    pub use_cases: usize,
    /// Combinations of model, provider and use case per site. Default 2000.
    pub series: usize,
    /// Combinations of model, provider, use case and country per site. As many combinations of these four with a response
    /// model have a place of their own. Default 2000.
    pub window_series: usize,
    /// Most series of all sites in an answer of `/metrics`, those with the most streams. Default 1000.
    pub metrics_series: usize,
    /// Most bytes of all series in an answer of `/metrics`, uncompressed. Default 67108864.
    pub metrics_bytes: usize,
}

/// How long a stream's id is remembered, so that a report that is sent twice counts once.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dedupe {
    /// Most revisions remembered. Default 200000.
    pub ids: usize,
    /// Longest time since a stream's last revision, in minutes. Default 30.
    pub minutes: u32,
}

/// How much is stored on disk.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// Number of the newest single streams; fewer if they have more than four reports each on average.
    /// Default 50000.
    pub streams_kept: u32,
    /// Number of sampled single streams that are stored for `history_days`: this many of the slowest, of the
    /// failed and of a uniform random sample, for each site and day (UTC). Default 20; 0 stores none.
    pub samples: u32,
    /// Hours for which one-minute windows are stored. Default 48.
    pub windows_hours: u32,
    /// Days for which hourly and daily windows are stored. Longer ranges are read from these. Default 400.
    pub history_days: u32,
    /// Days for which files of streams are kept. Default 30; 0 writes none. With `clickhouse`, none are written.
    pub row_files_days: u32,
    /// Most bytes of all files of streams together; the oldest are deleted first. Default 4294967296.
    pub row_files_bytes: u64,
    /// Streams in one file. Fewer make more and smaller files; more take longer until they are in one. Default 65536.
    pub row_file_streams: u32,
    /// ClickHouse database that combines several collectors. Default none: this collector is alone.
    pub clickhouse: Option<ClickHouse>,
}

impl Store {
    /// Whether streams that memory no longer lists are written to files.
    pub(crate) const fn writes_row_files(&self) -> bool {
        self.row_files_days > 0 && self.clickhouse.is_none()
    }
}

/// ClickHouse database that combines several collectors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClickHouse {
    /// Address of its HTTP interface: `http://clickhouse:8123`, or `https`.
    pub url: String,
    /// Database of the tables; it is created if it is missing. Default `llm_rum`.
    #[serde(default = "database")]
    pub database: String,
    /// User name. Default `default`.
    #[serde(default = "user")]
    pub user: String,
    /// Password. Default none.
    #[serde(default)]
    pub password: Option<Secret>,
    /// Seconds between two publications of new data. Default 5.
    #[serde(default = "five")]
    pub publish_seconds: u32,
    /// Longest wait for a response, in seconds. Default 10.
    #[serde(default = "ten")]
    pub timeout_seconds: u32,
}

/// A site whose pages may send.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Name in labels and on the dashboard.
    pub name: String,
    /// Public keys for `?site=`. There may be several, so that one can be replaced without loss.
    pub keys: Vec<String>,
    /// Origins whose pages may send: `https://app.example`, `https://*.app.example`, `loopback`,
    /// `null` for sandboxed frames, or `capacitor://localhost` for an app.
    pub origins: Vec<Origin>,
    /// Use case of reports that have none. Default `chat`.
    #[serde(default = "chat")]
    pub use_case: String,
    /// Rate limit for the valid beacons of all its pages. Default none.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Key of the signed tokens that its pages must send, at least 16 bytes. Default none: they send the site's key.
    #[serde(default)]
    pub signing_key: Option<Secret>,
    /// Share of streams that are counted, above 0 and at most 1, chosen by their ids. Default 1.
    #[serde(default = "all")]
    pub sample: f64,
    /// Keys of the attributes that pages may set, at most five, such as `plan`. Default none.
    #[serde(default)]
    pub attributes: Vec<String>,
    /// Beacons that are excluded because they do not come from users. Default bots and prerendered pages.
    #[serde(default)]
    pub filters: Filters,
    /// Targets by use case, which override the common ones.
    #[serde(default)]
    pub targets: BTreeMap<String, OwnTargets>,
    /// Addresses of a stream in other tools, such as of its trace, by the name that the dashboard shows.
    #[serde(default)]
    pub links: BTreeMap<String, LinkTemplate>,
}

impl Config {
    /// Whether a backend may send its timings.
    #[must_use]
    pub fn takes_server_timings(&self) -> bool {
        let is_open = self.server.without_token && !self.needs_sign_in();
        is_open || self.tokens.iter().any(|token| token.scopes.contains(&Scope::ServerTimings))
    }

    /// Whether readers must show who they are. Otherwise only requests to a loopback host are served.
    #[must_use]
    pub const fn needs_sign_in(&self) -> bool {
        !self.tokens.is_empty() || self.auth_proxy.header.is_some()
    }

    /// Length of the error budget's period in days, limited by the stored history.
    #[must_use]
    pub fn budget_days(&self) -> u32 {
        self.slo.days.min(self.store.history_days)
    }

    /// Targets of a use case: the site's override the common ones, which override the default profile.
    #[must_use]
    pub fn targets(&self, site: Option<&str>, use_case: &str) -> Targets {
        let default = Targets::of(use_case);
        let common = self.targets.get(use_case).map_or(default, |own| own.over(default));
        let site = self.sites.iter().find(|known| Some(known.name.as_str()) == site);
        site.and_then(|site| site.targets.get(use_case)).map_or(common, |own| own.over(common))
    }

    /// Targets of every use case that has any: of sites first, then the common ones, then the default profiles.
    pub(crate) fn all_targets(&self) -> impl Iterator<Item = Targets> {
        let of_site = |site: &Site| {
            let targets = |use_case: &String| self.targets(Some(&site.name), use_case);
            site.targets.keys().map(targets).collect::<Vec<_>>()
        };
        let of_sites = self.sites.iter().flat_map(of_site).collect::<Vec<_>>().into_iter();
        let common = self.targets.keys().map(|use_case| self.targets(None, use_case));
        of_sites.chain(common).chain(targets::PROFILES.into_iter().map(|(_, targets)| targets))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            data: PathBuf::from("llm-rum-data"),
            tokens: Vec::new(),
            auth_proxy: AuthProxy::default(),
            memory_bytes: None,
            settle_after_seconds: 120,
            journal: Journal::default(),
            server: ServerTimings::default(),
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
                signing_key: None,
                sample: all(),
                attributes: Vec::new(),
                filters: Filters::none(),
                targets: BTreeMap::new(),
                links: BTreeMap::new(),
            }],
            models: BTreeMap::new(),
            targets: BTreeMap::new(),
            slo: Slo::default(),
            reading_speeds: vec![5.0, 10.0],
            otlp: Otlp::default(),
            notify: Vec::new(),
            engines: Vec::new(),
            public_url: None,
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
            trust_loopback: false,
            proxies: Vec::new(),
            client_header: None,
            bodies_bytes: 64 * 1024 * 1024,
            queue_batches: 4096,
            queue_bytes: 16 * 1024 * 1024,
            notice_seconds: 0,
        }
    }
}

impl Default for ServerTimings {
    fn default() -> Self {
        Self { wait_seconds: 300, hash_key: None, without_token: false }
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self { sync: Sync::default(), wait_seconds: 10 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            models: 100,
            providers: 20,
            use_cases: 20,
            series: 2000,
            window_series: 2000,
            metrics_series: 1000,
            metrics_bytes: 64 * 1024 * 1024,
        }
    }
}

impl Default for Dedupe {
    fn default() -> Self {
        Self { ids: 200_000, minutes: 30 }
    }
}

impl Default for Otlp {
    fn default() -> Self {
        // A sandboxed service may have no `/proc/sys`.
        let names = ["/proc/sys/kernel/hostname", "/etc/hostname"];
        let host = names.iter().find_map(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        Self {
            endpoint: None,
            headers: BTreeMap::new(),
            every_seconds: 60,
            temporality: Temporality::default(),
            names: OtlpNames::default(),
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
        Self {
            streams_kept: 50_000,
            samples: 20,
            windows_hours: 48,
            history_days: 400,
            row_files_days: 30,
            row_files_bytes: 4 << 30,
            row_file_streams: 65_536,
            clickhouse: None,
        }
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

/// Least `memory_bytes`: 192 MiB.
pub(crate) const LEAST_MEMORY_BYTES: usize = 192 * 1024 * 1024;

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

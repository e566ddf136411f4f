//! A client for ClickHouse's HTTP interface.

use std::time::Duration;

use axum::http::HeaderValue;
use ureq::Agent;

use crate::config::ClickHouse;

/// Why a request to ClickHouse failed.
#[derive(Debug, thiserror::Error)]
pub enum ClickHouseError {
    /// No response: the server is unreachable or too slow.
    #[error("ClickHouse does not answer")]
    Away(#[source] Box<ureq::Error>),
    /// The server responded with an error.
    #[error("ClickHouse answered {status}: {answer_start}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The beginning of the response.
        answer_start: String,
    },
    /// The confirmation came after the publishing thread was abandoned.
    #[error("ClickHouse confirmed too late")]
    TooLate,
    /// A row of the response does not have the expected form.
    #[error("ClickHouse answered with a row that cannot be decoded")]
    Row(#[from] serde_json::Error),
    /// A later version of the collector created the tables.
    #[error(
        "the tables in ClickHouse have layout {found}, but this version supports only {known}: use a later version"
    )]
    Newer {
        /// Schema version of the tables.
        found: u32,
        /// Latest schema version that this collector supports.
        known: u32,
    },
}

/// Texts that a statement refers to by placeholders. They travel beside the statement, so no text can be read as SQL.
#[derive(Debug, Default)]
pub(super) struct Params(Vec<String>);

impl Params {
    /// Binds a text and returns its placeholder. Equal texts share one, because the URL carries all of them.
    pub(super) fn text(&mut self, text: &str) -> String {
        let escaped = escape(text);
        let number = self.0.iter().position(|known| *known == escaped).unwrap_or_else(|| {
            self.0.push(escaped);
            self.0.len() - 1
        });
        format!("{{p{number}:String}}")
    }
}

/// ClickHouse reads the value of a parameter as a field of its format `TabSeparated`, which escapes these characters.
/// Without it, the server rejects a tab or a line feed, and reads a backslash as the start of an escape.
fn escape(text: &str) -> String {
    text.replace('\\', r"\\").replace('\t', r"\t").replace('\n', r"\n")
}

/// Client of one server or of one load balancer.
pub(super) struct Client {
    agent: Agent,
    config: ClickHouse,
    password: Option<HeaderValue>,
}

impl Client {
    pub(super) fn new(config: ClickHouse) -> Self {
        let timeout = Duration::from_secs(config.timeout_seconds.into());
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(timeout))
            .timeout_connect(Some(timeout.min(LONGEST_CONNECT)))
            .max_redirects(0)
            .max_idle_connections_per_host(MOST_IDLE)
            .max_idle_connections(MOST_IDLE)
            // A proxy from the environment is meant for remote hosts, not for the database.
            .proxy(None)
            .build();
        let password = config.password.as_ref().map(|password| {
            let mut value = HeaderValue::from_bytes(password.bytes()).expect("the configuration is checked");
            // Keeps the password out of debug output.
            value.set_sensitive(true);
            value
        });
        Self { agent: agent.into(), config, password }
    }

    pub(super) fn database(&self) -> &str {
        &self.config.database
    }

    /// Qualified name of a table of the collector, for statements.
    pub(super) fn table(&self, name: &str) -> String {
        format!("{}.llm_rum_{name}", self.config.database)
    }

    /// Runs a statement and ignores its response.
    pub(super) fn execute(&self, statement: &str) -> Result<(), ClickHouseError> {
        self.execute_with(statement, &Params::default())
    }

    /// The same, with texts for its placeholders.
    pub(super) fn execute_with(&self, statement: &str, params: &Params) -> Result<(), ClickHouseError> {
        self.post(None, params, statement.as_bytes()).map(|_| ())
    }

    /// Inserts rows: one JSON array per line.
    pub(super) fn insert(&self, table: &str, columns: &str, rows: &[u8]) -> Result<(), ClickHouseError> {
        let statement = format!("INSERT INTO {} ({columns}) FORMAT JSONCompactEachRow", self.table(table));
        self.post(Some(&statement), &Params::default(), rows).map(|_| ())
    }

    /// Inserts rows unless an insert with this token came before.
    pub(super) fn insert_once(
        &self,
        table: &str,
        columns: &str,
        token: &str,
        rows: &[u8],
    ) -> Result<(), ClickHouseError> {
        let statement = format!(
            "INSERT INTO {} ({columns}) SETTINGS insert_deduplicate = 1, insert_deduplication_token = '{token}'
             FORMAT JSONCompactEachRow",
            self.table(table)
        );
        self.post(Some(&statement), &Params::default(), rows).map(|_| ())
    }

    /// Runs a query and returns its rows: one JSON array per line.
    pub(super) fn query(&self, query: &str, params: &Params) -> Result<String, ClickHouseError> {
        self.post(None, params, format!("{query} FORMAT JSONCompactEachRow").as_bytes())
    }

    fn post(&self, statement: Option<&str>, params: &Params, body: &[u8]) -> Result<String, ClickHouseError> {
        let mut request = self.agent.post(&self.config.url).header("X-ClickHouse-User", &self.config.user);
        if let Some(password) = &self.password {
            request = request.header("X-ClickHouse-Key", password);
        }
        request = request.query_pairs(SETTINGS);
        if let Some(statement) = statement {
            request = request.query("query", statement);
        }
        for (number, value) in params.0.iter().enumerate() {
            request = request.query(format!("param_p{number}"), value);
        }
        let away = |error| ClickHouseError::Away(Box::new(error));
        let mut response = request.send(body).map_err(away)?;
        let status = response.status().as_u16();
        let text =
            response.body_mut().with_config().limit(MOST_ANSWER_BYTES).read_to_string().map_err(away)?;
        if status != 200 {
            let answer_start =
                text.lines().next().unwrap_or_default().chars().take(MAX_ANSWER_CHARS).collect();
            return Err(ClickHouseError::Refused { status, answer_start });
        }
        Ok(text)
    }
}

/// `wait_end_of_query` makes the HTTP status reliable: ClickHouse buffers the response until the query has
/// ended. Numbers arrive as numbers, not as strings. All versions of a window are in one partition, so
/// `FINAL` need not merge across partitions. Newer servers batch the inserts of many clients by default, and
/// a profile may then let them confirm rows before they are written.
const SETTINGS: [(&str, &str); 4] = [
    ("wait_end_of_query", "1"),
    ("output_format_json_quote_64bit_integers", "0"),
    ("do_not_merge_across_partitions_select_final", "1"),
    ("async_insert", "0"),
];

/// Enough idle connections for two API requests that run several queries at once.
const MOST_IDLE: usize = 16;

const LONGEST_CONNECT: Duration = Duration::from_secs(5);
const MOST_ANSWER_BYTES: u64 = 256 * 1024 * 1024;
const MAX_ANSWER_CHARS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_escape_backslashes_tabs_and_line_feeds() {
        let mut params = Params::default();
        let texts = ["it's", r"a\tb", "a\tb\nc", "it's"];
        let placeholders = texts.map(|text| params.text(text));
        assert_eq!(placeholders, ["{p0:String}", "{p1:String}", "{p2:String}", "{p0:String}"]);
        assert_eq!(params.0, ["it's", r"a\\tb", r"a\tb\nc"]);
    }
}

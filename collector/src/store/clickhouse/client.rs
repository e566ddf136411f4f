//! A client for ClickHouse's HTTP interface.

use std::time::Duration;

use axum::http::HeaderValue;
use ureq::Agent;

use crate::config::ClickHouse;

/// Why ClickHouse did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum ClickHouseError {
    /// No answer came: it is away, or too slow.
    #[error("ClickHouse does not answer")]
    Away(#[source] Box<ureq::Error>),
    /// It answered with a refusal.
    #[error("ClickHouse answered {status}: {answer_start}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The beginning of its answer.
        answer_start: String,
    },
    /// It confirmed when nobody waited any more.
    #[error("ClickHouse confirmed too late")]
    TooLate,
    /// A row is not what was asked for.
    #[error("ClickHouse answered with a row that cannot be decoded")]
    Row(#[from] serde_json::Error),
    /// A later version of the collector made the tables.
    #[error(
        "the tables in ClickHouse have layout {found}, but this version supports only {known}: use a later version"
    )]
    Newer {
        /// Layout of the tables.
        found: u32,
        /// Layout known here.
        known: u32,
    },
}

/// Speaks to one server, or to the balancer in front of some.
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
            // One that the environment names is for what is far away.
            .proxy(None)
            .build();
        let password = config.password.as_ref().map(|password| {
            let mut value = HeaderValue::from_bytes(password.bytes()).expect("the configuration is checked");
            // It prints as nothing.
            value.set_sensitive(true);
            value
        });
        Self { agent: agent.into(), config, password }
    }

    pub(super) fn database(&self) -> &str {
        &self.config.database
    }

    /// A table of the collector's database, as it stands in statements.
    pub(super) fn table(&self, name: &str) -> String {
        format!("{}.llm_rum_{name}", self.config.database)
    }

    /// Runs a statement; what it answers is of no interest.
    pub(super) fn execute(&self, statement: &str) -> Result<(), ClickHouseError> {
        self.post(None, statement.as_bytes()).map(|_| ())
    }

    /// Inserts rows, one JSON array a line.
    pub(super) fn insert(&self, table: &str, columns: &str, rows: &[u8]) -> Result<(), ClickHouseError> {
        let statement = format!("INSERT INTO {} ({columns}) FORMAT JSONCompactEachRow", self.table(table));
        self.post(Some(&statement), rows).map(|_| ())
    }

    /// Answers a query with its rows, one JSON array a line.
    pub(super) fn query(&self, query: &str) -> Result<String, ClickHouseError> {
        self.post(None, format!("{query} FORMAT JSONCompactEachRow").as_bytes())
    }

    fn post(&self, statement: Option<&str>, body: &[u8]) -> Result<String, ClickHouseError> {
        let mut request = self.agent.post(&self.config.url).header("X-ClickHouse-User", &self.config.user);
        if let Some(password) = &self.password {
            request = request.header("X-ClickHouse-Key", password);
        }
        request = request.query_pairs(SETTINGS);
        if let Some(statement) = statement {
            request = request.query("query", statement);
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

/// A label as a literal of ClickHouse's SQL: pages choose what stands in it.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for char in text.chars() {
        if matches!(char, '\'' | '\\') {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted.push('\'');
    quoted
}

/// The status says whether all went well only when the answer is held back until it is whole. Numbers are
/// to come as numbers. A partition holds all that is said of a window, so that none has to look at another.
/// Newer servers collect inserts of many clients unless told otherwise, and then a profile may let them confirm
/// what is not written yet.
const SETTINGS: [(&str, &str); 4] = [
    ("wait_end_of_query", "1"),
    ("output_format_json_quote_64bit_integers", "0"),
    ("do_not_merge_across_partitions_select_final", "1"),
    ("async_insert", "0"),
];

/// Two questions that ask several things at once find their connections again.
const MOST_IDLE: usize = 16;

const LONGEST_CONNECT: Duration = Duration::from_secs(5);
const MOST_ANSWER_BYTES: u64 = 256 * 1024 * 1024;
const MAX_ANSWER_CHARS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_leave_its_literal() {
        assert_eq!(quote(r"it's \ a' OR 1=1"), r"'it\'s \\ a\' OR 1=1'");
    }
}

//! The table of scenarios: the path segment of a request selects a scenario and its pace.

use std::str::FromStr;
use std::time::Duration;

use crate::api::Api;

/// The fault of a response, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No fault.
    Normal,
    /// Headers immediately, first token late.
    SlowFirstToken,
    /// A pause in the middle.
    Stall,
    /// The connection closes in the middle.
    CutSocket,
    /// The body ends in the middle with its final chunk, but without the terminal event.
    CutClean,
    /// The provider reports an error inside the stream.
    ProviderError,
    /// One event contains invalid JSON.
    Malformed,
    /// A proxy buffers the whole stream and releases it at once.
    Buffered,
    /// Status 429 or 500 instead of a stream.
    HttpError,
    /// Status 200, the right content type, and no body.
    Empty,
    /// A minute of text, for the user to stop.
    UserStops,
    /// A recording of a real engine's stream at its original pace.
    Recorded,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its fault.
    pub kind: Kind,
    /// The path segment, which is also the value in the page's list.
    pub name: &'static str,
    /// The label in the page's list.
    pub label: &'static str,
    /// Text of the response, which explains what to look for.
    pub text: &'static str,
    /// The only API that supports it. `None`: all of them.
    pub only: Option<Api>,
}

/// A row of the table and the requested pace: `normal`, or `normal;first=300;gap=12;deltas=80`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    /// The row.
    pub row: &'static Row,
    /// The pace from the path.
    pub pace: Pace,
}

/// The pace of a response. `None`: as defined by the scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Time to the first token.
    pub first: Option<Duration>,
    /// The part of it that the request spends in the queue.
    pub queue: Option<Duration>,
    /// Time between two deltas.
    pub gap: Option<Duration>,
    /// Number of deltas.
    pub deltas: Option<usize>,
}

/// Why a path segment is not a scenario.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScenarioError {
    /// The table has no such row.
    Unknown(String),
    /// Not `first=MS`, `gap=MS` or `deltas=N`, or over the limit.
    Parameter(String),
}

impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(segment: &str) -> Result<Self, ScenarioError> {
        let mut parts = segment.split(';');
        let name = parts.next().unwrap_or_default();
        let row = TABLE
            .iter()
            .find(|row| row.name == name)
            .ok_or_else(|| ScenarioError::Unknown(name.chars().take(64).collect()))?;
        let mut pace = Pace::default();
        for part in parts {
            pace.set(part).ok_or_else(|| ScenarioError::Parameter(part.chars().take(64).collect()))?;
        }
        Ok(Self { row, pace })
    }
}

impl Pace {
    fn set(&mut self, parameter: &str) -> Option<()> {
        let (key, value) = parameter.split_once('=')?;
        let value: u64 = value.parse().ok().filter(|&value| value <= 60_000)?;
        match key {
            "first" => self.first = Some(Duration::from_millis(value)),
            "queue" => self.queue = Some(Duration::from_millis(value)),
            "gap" => self.gap = Some(Duration::from_millis(value)),
            // A fault in the middle needs a delta before and after it.
            "deltas" if (2..=2_000).contains(&value) => self.deltas = Some(value as usize),
            _ => return None,
        }
        Some(())
    }
}

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(name) => {
                let names: Vec<_> = TABLE.iter().map(|row| row.name).collect();
                write!(f, "no scenario `{name}`; there are {}", names.join(", "))
            }
            Self::Parameter(part) => {
                write!(
                    f,
                    "`{part}` is none of first=MS, queue=MS, gap=MS (at most 60000) and deltas=N (2 to 2000)"
                )
            }
        }
    }
}

impl std::error::Error for ScenarioError {}

/// All scenarios in the order of the page's list.
pub(crate) const TABLE: &[Row] = &[
    Row {
        kind: Kind::Normal,
        name: "normal",
        label: "Normal response",
        text: "This is an ordinary answer. The first word came after a short think, the rest follow \
               steadily, and the stream closes with its proper end marker. Nothing is wrong, and the \
               report says so.",
        only: None,
    },
    Row {
        kind: Kind::SlowFirstToken,
        name: "slow_first_token",
        label: "Slow first token",
        text: "The response headers reached you at once, yet this first word took three seconds. Tools \
               that time the headers call this fast. You waited, and the time to first token is what \
               you felt.",
        only: None,
    },
    Row {
        kind: Kind::Stall,
        name: "stall",
        label: "Stall in the middle",
        text: "Words arrive at a good pace and you begin to read along. Then, right about here, nothing \
               comes for more than two seconds, long enough to wonder. Now it goes on as if nothing \
               had happened.",
        only: None,
    },
    Row {
        kind: Kind::CutSocket,
        name: "cut_socket",
        label: "Connection dropped",
        text: "You will not see the end of this answer, because the connection is dropped in the middle \
               of it. The browser reports a network error, and the words that were still to come are \
               lost for good.",
        only: None,
    },
    Row {
        kind: Kind::CutClean,
        name: "cut_clean",
        label: "Cut without an error",
        text: "This answer also stops halfway, but politely: the response ends as if all were well, only \
               the end marker is missing. Most client libraries call that a success. The report says \
               truncated, which is the truth.",
        only: None,
    },
    Row {
        kind: Kind::ProviderError,
        name: "provider_error",
        label: "Error inside the stream",
        text: "The status was 200 and the words began to flow, but the model server fails while it is \
               still generating. It says so inside the stream, where no status code can show it any \
               more, and stops.",
        only: None,
    },
    Row {
        kind: Kind::Malformed,
        name: "malformed",
        label: "One broken event",
        text: "Every event of this stream is good JSON, except for one in the middle that was torn on its \
               way. Some apps skip it and lose a word, others throw and lose the rest of the whole \
               answer.",
        only: None,
    },
    Row {
        kind: Kind::Buffered,
        name: "buffered",
        label: "Buffered by a proxy",
        text: "The model produced this answer word by word, but something on the way kept all of it and \
               then let it go at once. The server's own numbers look fine. Yours do not, and the \
               difference is the proxy.",
        only: None,
    },
    Row { kind: Kind::HttpError, name: "http_error", label: "HTTP error (429 or 500)", text: "", only: None },
    Row { kind: Kind::Empty, name: "empty", label: "200 and no body", text: "", only: None },
    Row {
        kind: Kind::UserStops,
        name: "user_stops",
        label: "A minute long: press Stop",
        text: "This answer goes on for a whole minute, far longer than anyone wants to read, so press Stop \
               when you have seen enough. The server's log then shows whether the connection was really \
               closed, or whether the model went on writing for nobody. ",
        only: None,
    },
    Row {
        kind: Kind::Recorded,
        name: "recorded",
        label: "Recorded llama.cpp stream",
        text: "",
        only: Some(Api::OpenaiChat),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_read_from_the_path_segment() {
        let scenario: Scenario = "stall;first=300;queue=90;gap=12;deltas=80".parse().unwrap();
        assert_eq!(scenario.row.kind, Kind::Stall);
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(scenario.pace, Pace { first: ms(300), queue: ms(90), gap: ms(12), deltas: Some(80) });
    }

    #[test]
    fn an_unknown_scenario_is_refused_with_a_reason() {
        let refused = |segment: &str| segment.parse::<Scenario>().unwrap_err().to_string();
        assert!(
            refused("nonsense").starts_with("no scenario `nonsense`; there are normal, slow_first_token")
        );
        for segment in
            ["normal;first", "normal;first=-1", "normal;gap=60001", "normal;deltas=1", "normal;x=1"]
        {
            assert!(refused(segment).contains("is none of first=MS"), "{segment}");
        }
    }

    #[test]
    fn scenarios_have_unique_names_and_enough_words() {
        for (at, row) in TABLE.iter().enumerate() {
            assert!(TABLE[..at].iter().all(|other| other.name != row.name && other.kind != row.kind));
            assert!(row.text.is_empty() || row.text.split_whitespace().count() >= 30, "{}", row.name);
        }
    }
}

//! Censored waits: streams that ended before the token arrived, by the cause of their end. Definition:
//! `docs/statistics.md#censored-waits`.

use beacon::{Observed, Outcome, StreamReport};

/// Cause of the end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBy {
    /// The user stopped the stream, or left.
    User,
    /// The service failed.
    Failure,
}

/// The wait in milliseconds of a report that did not reach a moment, and what ended it. `None` if the stream
/// ended well, because it requested no token. Also `None` if the content or the end was not observed: it is
/// then unknown whether a token arrived, or how long the wait was.
pub(crate) fn censored_wait(report: &StreamReport, reached_ms: Option<f64>) -> Option<(EndedBy, f64)> {
    let is_seen = report.observed != Observed::Chunks || report.chunks == 0;
    if reached_ms.is_some() || !is_seen {
        return None;
    }
    let ended_by = match report.outcome {
        Outcome::Aborted | Outcome::Abandoned => EndedBy::User,
        outcome if outcome.is_error() => EndedBy::Failure,
        _ => return None,
    };
    Some((ended_by, report.close_ms?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(outcome: Outcome) -> StreamReport {
        StreamReport { outcome, close_ms: Some(7_000.0), ..StreamReport::new("0") }
    }

    #[test]
    fn a_stream_without_text_waited_until_its_end() {
        for (outcome, ended_by) in [
            (Outcome::Aborted, Some(EndedBy::User)),
            (Outcome::Abandoned, Some(EndedBy::User)),
            (Outcome::Truncated, Some(EndedBy::Failure)),
            (Outcome::NetworkError, Some(EndedBy::Failure)),
            (Outcome::HttpError, Some(EndedBy::Failure)),
            (Outcome::Timeout, Some(EndedBy::Failure)),
            (Outcome::Empty, Some(EndedBy::Failure)),
            (Outcome::Complete, None),
            (Outcome::Unobserved, None),
        ] {
            let report = ended(outcome);
            assert_eq!(censored_wait(&report, None), ended_by.map(|by| (by, 7_000.0)), "{outcome:?}");
            assert_eq!(censored_wait(&report, Some(900.0)), None, "{outcome:?}");
        }
    }

    #[test]
    fn a_wait_with_an_unknown_end_or_content_is_none() {
        let left = ended(Outcome::Abandoned);
        assert_eq!(
            censored_wait(&StreamReport { close_ms: None, ..left.clone() }, None),
            None,
            "died unseen"
        );
        let unread = StreamReport { observed: Observed::Chunks, ..left };
        assert_eq!(
            censored_wait(&StreamReport { chunks: 3, ..unread.clone() }, None),
            None,
            "perhaps with text"
        );
        assert_eq!(censored_wait(&unread, None), Some((EndedBy::User, 7_000.0)), "no byte came");
    }
}

//! Dimensions that only single streams tell. No window or series is kept by them: queries about them read the reports
//! of the streams that are still kept.

use std::fmt;

use beacon::{Defect, MAX_ATTRIBUTE_BYTES, Outcome, StreamReport, is_attribute_key};

use super::dimension::UNKNOWN;

/// What a query does with a dimension of single streams.
pub(crate) struct StreamDimension {
    /// Name in the API.
    pub(crate) name: &'static str,
    /// Fields on which the value depends.
    pub(crate) reads: &'static [&'static str],
    value: Value,
    /// The words that a filter takes. `None`: any text.
    pub(crate) words: Option<fn() -> Vec<&'static str>>,
    /// Whether it can be the reason why a stream is slow or fails. Otherwise it may follow from that.
    pub(crate) is_reason: bool,
}

/// In the order of the API's parameters.
pub(crate) static STREAM_DIMENSIONS: [StreamDimension; 19] = [
    reason("release", &["page_release"], |report| report.page.as_ref()?.release.as_deref()),
    reason("variant", &["variant"], |report| report.variant.as_deref()),
    reason("route", &["page_route"], |report| report.page.as_ref()?.route.as_deref()),
    reason("browser", &["page_browser"], |report| report.page.as_ref()?.browser.as_deref()),
    reason("browser_version", &["page_browser_version"], |report| {
        report.page.as_ref()?.browser_version.as_deref()
    }),
    reason("os", &["page_os"], |report| report.page.as_ref()?.os.as_deref()),
    reason("device", &["page_device"], |report| report.page.as_ref()?.device.as_deref()),
    reason("connection", &["page_connection"], |report| report.page.as_ref()?.connection.as_deref()),
    reason("protocol", &["page_lifecycle_protocol"], |report| {
        report.page_lifecycle.as_ref()?.protocol.map(beacon::Protocol::as_str)
    }),
    reason("visibility", &["page_visibility"], |report| report.page.as_ref()?.visibility.as_deref()),
    reason("dialect", &["dialect"], |report| report.dialect.as_deref()),
    reason("prompt_size", &["input_tokens"], |report| report.input_tokens.map(prompt_size)),
    reason("cached", &["cached_tokens", "input_tokens"], cached),
    reason("reasoning", &["reasoning_tokens", "ttft_ms", "ttfv_ms"], reasoning),
    fact(KIND, &KIND_READS, |report| Some(report.kind().as_str())),
    fact("finish_reason", &["finish_reason"], |report| report.finish_reason.as_deref()),
    fact("server_source", &["server_source"], |report| Some(&*report.server.as_ref()?.source)),
    StreamDimension {
        words: Some(|| Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect()),
        ..fact(OUTCOME, &[OUTCOME], |report| Some(report.outcome.as_str()))
    },
    StreamDimension {
        name: "defect",
        reads: &["defects"],
        value: Value::Defects,
        words: Some(|| Defect::ALL.iter().map(|defect| defect.as_str()).chain([NONE]).collect()),
        is_reason: false,
    },
];

/// Where the values of a dimension come from.
enum Value {
    /// A stream has one value, or `None` if it is unknown.
    One(ValueOf),
    /// A stream has all its defects, or [`NONE`].
    Defects,
}

type ValueOf = for<'a> fn(&'a StreamReport) -> Option<&'a str>;

/// Dimension of the outcomes.
pub(crate) const OUTCOME: &str = "outcome";

/// The defect of a stream without defects.
pub(crate) const NONE: &str = "none";

/// Dimension of the kinds of streams. A query that does not name it is about answers alone.
pub(crate) const KIND: &str = "stream_kind";
pub(crate) const KIND_READS: [&str; 2] = ["background", "observed"];

const fn reason(name: &'static str, reads: &'static [&'static str], value: ValueOf) -> StreamDimension {
    StreamDimension { name, reads, value: Value::One(value), words: None, is_reason: true }
}

const fn fact(name: &'static str, reads: &'static [&'static str], value: ValueOf) -> StreamDimension {
    StreamDimension { name, reads, value: Value::One(value), words: None, is_reason: false }
}

impl StreamDimension {
    /// All values of a stream, at least one.
    pub(crate) fn values<'a>(&self, report: &'a StreamReport) -> impl Iterator<Item = &'a str> + use<'a> {
        let (one, defects) = match self.value {
            Value::One(value) => (Some(value(report).unwrap_or(UNKNOWN)), None),
            Value::Defects if report.defects.is_empty() => (Some(NONE), None),
            Value::Defects => (None, Some(report.defects.iter().map(|(defect, _)| defect.as_str()))),
        };
        one.into_iter().chain(defects.into_iter().flatten())
    }

    /// The value of a stream that is the only one and known.
    pub(crate) fn known_value<'a>(&self, report: &'a StreamReport) -> Option<&'a str> {
        match self.value {
            Value::One(value) => value(report),
            Value::Defects => None,
        }
    }

    /// Whether a stream may have several values.
    pub(crate) const fn may_have_several(&self) -> bool {
        matches!(self.value, Value::Defects)
    }
}

/// Place of a dimension in [`STREAM_DIMENSIONS`].
pub(crate) fn place_of(name: &str) -> usize {
    let at = STREAM_DIMENSIONS.iter().position(|dimension| dimension.name == name);
    at.expect("the dimension is in the table")
}

/// Key of an attribute, a dimension that the app names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AttributeKey {
    /// Zero behind the key.
    bytes: [u8; MAX_ATTRIBUTE_BYTES],
    length: u8,
}

impl AttributeKey {
    /// The key in the name of a dimension, such as `attribute.plan`.
    pub(crate) fn of_dimension(name: &str) -> Option<Self> {
        let key = name.strip_prefix(ATTRIBUTE).filter(|key| is_attribute_key(key))?;
        let mut bytes = [0; MAX_ATTRIBUTE_BYTES];
        bytes[..key.len()].copy_from_slice(key.as_bytes());
        Some(Self { bytes, length: key.len() as u8 })
    }

    /// Name of the dimension in the API.
    pub(crate) fn dimension(self) -> String {
        attribute_dimension(self.as_str())
    }

    /// Value of a stream. `None` if it has no such attribute.
    pub(crate) fn value<'a>(&self, report: &'a StreamReport) -> Option<&'a str> {
        report.attributes.get(self.as_str())
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length.into()]).unwrap_or_default()
    }
}

impl fmt::Debug for AttributeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Name of the dimension of an attribute.
pub(crate) fn attribute_dimension(key: &str) -> String {
    format!("{ATTRIBUTE}{key}")
}

/// Field of the report with all attributes.
pub(crate) const ATTRIBUTES: &str = "attributes";

/// What the names of dimensions of attributes begin with.
pub(crate) const ATTRIBUTE: &str = "attribute.";

/// Names of all dimensions of single streams.
pub fn stream_dimension_names() -> impl Iterator<Item = &'static str> {
    STREAM_DIMENSIONS.iter().map(|dimension| dimension.name)
}

/// Size class of a prompt, by the provider's count of input tokens.
fn prompt_size(input_tokens: u64) -> &'static str {
    match input_tokens {
        0..=256 => "up to 256",
        257..=1_024 => "257 to 1k",
        1_025..=4_096 => "1k to 4k",
        4_097..=16_384 => "4k to 16k",
        16_385..=65_536 => "16k to 64k",
        _ => "above 64k",
    }
}

/// How much of the prompt came from the provider's cache: less than a hundredth, up to four fifths, or more.
fn cached(report: &StreamReport) -> Option<&'static str> {
    let (cached, input) = (report.cached_tokens?, report.input_tokens.filter(|tokens| *tokens > 0)?);
    Some(match cached as f64 / input as f64 {
        share if share < 0.01 => "none",
        share if share < 0.8 => "partly",
        _ => "mostly",
    })
}

/// Whether the model reasoned, by the provider's count, or because reasoning came before the answer.
fn reasoning(report: &StreamReport) -> Option<&'static str> {
    let came_first = report.ttft_ms.zip(report.ttfv_ms).is_some_and(|(any, visible)| any < visible);
    match report.reasoning_tokens {
        Some(0) if !came_first => Some("no"),
        None if !came_first => None,
        _ => Some("yes"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use beacon::{Defect, Page};

    use super::*;
    use crate::aggregate::dimension::DIMENSIONS;

    fn value_of(name: &str, report: &StreamReport) -> Option<String> {
        STREAM_DIMENSIONS[place_of(name)].known_value(report).map(str::to_owned)
    }

    #[test]
    fn no_two_dimensions_share_a_name() {
        let stored = DIMENSIONS.iter().map(|spec| spec.name);
        let names: Vec<_> = stored.chain(STREAM_DIMENSIONS.iter().map(|dimension| dimension.name)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn a_value_that_the_report_does_not_tell_is_absent() {
        let report = StreamReport::new("0");
        // Each stream is of a kind and has an outcome.
        for dimension in
            STREAM_DIMENSIONS.iter().filter(|dimension| ![KIND, OUTCOME].contains(&dimension.name))
        {
            assert_eq!(dimension.known_value(&report), None, "{}", dimension.name);
        }
        let page = Page { release: Some("v42".into()), ..Page::default() };
        let report = StreamReport { page: Some(page), ..report };
        assert_eq!(value_of("release", &report).as_deref(), Some("v42"));
        assert_eq!(value_of("route", &report), None);
    }

    #[test]
    fn a_stream_has_all_its_defects_or_none() {
        let mut report = StreamReport::new("0");
        let defects = |report: &StreamReport| {
            STREAM_DIMENSIONS[place_of("defect")].values(report).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(defects(&report), [NONE]);
        report.defects.set(Defect::Stall, 2);
        report.defects.set(Defect::Malformed, 1);
        assert_eq!(defects(&report), ["malformed", "stall"]);
    }

    #[test]
    fn token_counts_become_classes() {
        let tokens = |input, cached| StreamReport {
            input_tokens: Some(input),
            cached_tokens: Some(cached),
            ..StreamReport::new("0")
        };
        for (input, size) in [(0, "up to 256"), (256, "up to 256"), (257, "257 to 1k"), (65_537, "above 64k")]
        {
            assert_eq!(value_of("prompt_size", &tokens(input, 0)).as_deref(), Some(size));
        }
        for (part, class) in [(0, "none"), (9, "none"), (10, "partly"), (799, "partly"), (800, "mostly")] {
            assert_eq!(value_of("cached", &tokens(1_000, part)).as_deref(), Some(class), "{part}");
        }
        assert_eq!(value_of("cached", &tokens(0, 0)), None);
    }

    #[test]
    fn reasoning_shows_in_the_count_or_in_the_time() {
        let with = |reasoning_tokens, ttft_ms, ttfv_ms| StreamReport {
            reasoning_tokens,
            ttft_ms,
            ttfv_ms,
            ..StreamReport::new("0")
        };
        let of = |report: StreamReport| value_of("reasoning", &report);
        assert_eq!(of(with(Some(0), Some(5.0), Some(5.0))).as_deref(), Some("no"));
        assert_eq!(of(with(Some(7), Some(5.0), Some(5.0))).as_deref(), Some("yes"));
        assert_eq!(of(with(None, Some(5.0), Some(9.0))).as_deref(), Some("yes"));
        assert_eq!(of(with(None, Some(5.0), Some(5.0))), None);
    }
}

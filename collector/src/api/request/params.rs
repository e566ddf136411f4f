//! The query parameters: name, meaning, accepted values and default of each. Each route's file says which it takes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use beacon::StreamKind;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::aggregate::dimension::{DIMENSIONS, Dimension, DimensionSpec, UNKNOWN};
use crate::aggregate::metric::{self, CensoredMetrics, Metric};
use crate::aggregate::sampling::SampleKind;
use crate::aggregate::stream_dimension::{
    ATTRIBUTE, ATTRIBUTES, AttributeKey, KIND as STREAM_KIND, NONE, STREAM_DIMENSIONS, StreamDimension,
};
use crate::api::request::query_string::{Accepts, FromQuery, Given, Param, bad, parameter, shorten};
use crate::http::error::{ApiError, Reason};
use crate::store::filter::{Filter, Selection, StreamSelections};
use crate::store::markers::MarkerKind;
use crate::store::query::KeptStream;
use crate::time::{DAY_MINUTES, DAY_MS, HOUR_MINUTES};

/// In the year 5138. Later times could overflow arithmetic.
pub(crate) const LATEST_MS: i64 = 100_000_000_000_000;
pub(crate) const LONGEST_MS: i64 = 400 * DAY_MS;

/// Length of a range that ends now.
pub(crate) struct RangeLength {
    pub(crate) minutes: i64,
}

impl Param for RangeLength {
    const NAME: &'static str = "range";
    const ABOUT: &'static str = "Length of the range, which ends now.";
    const DEFAULT: Option<&'static str> = Some("1h");

    fn accepts() -> Accepts<Self> {
        let lengths = [
            ("15m", 15),
            ("1h", HOUR_MINUTES),
            ("6h", 6 * HOUR_MINUTES),
            ("24h", DAY_MINUTES),
            ("7d", 7 * DAY_MINUTES),
            ("30d", 30 * DAY_MINUTES),
        ];
        Accepts::words(lengths.map(|(word, minutes)| (word, Self { minutes })))
    }
}

/// Start of a range.
pub(crate) struct FromMs(pub(crate) i64);

impl Param for FromMs {
    const NAME: &'static str = "from";
    const ABOUT: &'static str = "Start in milliseconds since 1970; requires `to`, excludes `range`.";

    fn accepts() -> Accepts<Self> {
        Accepts::Whole { min: 0, max: LATEST_MS, multiple_of: 1, value: Self }
    }
}

/// End of a range.
pub(crate) struct ToMs(pub(crate) i64);

impl Param for ToMs {
    const NAME: &'static str = "to";
    const ABOUT: &'static str = "End in milliseconds since 1970; requires `from`, excludes `range`.";

    fn accepts() -> Accepts<Self> {
        Accepts::Whole { min: 0, max: LATEST_MS, multiple_of: 1, value: Self }
    }
}

impl FromQuery for Filter {
    fn openapi() -> Vec<Value> {
        let by_window = |spec: &DimensionSpec| value_list(spec.name, &format!("Only this {}.", spec.about));
        let by_stream =
            |name| value_list(name, "Only single streams with this value. `unknown`: without one.");
        let of_streams = STREAM_DIMENSIONS.iter().map(|dimension| match dimension.words {
            _ if dimension.name == STREAM_KIND => kind(),
            Some(words) => one_of(dimension.name, &about_words(dimension.name, &words()), &words()),
            None => by_stream(dimension.name),
        });
        let attributes = by_stream("attribute.KEY");
        DIMENSIONS.iter().map(by_window).chain(of_streams).chain([attributes]).collect()
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        let mut selections = [const { Selection::All }; Dimension::COUNT];
        for (spec, selection) in DIMENSIONS.iter().zip(&mut selections) {
            *selection = selected(spec.name, given.texts(spec.name))?;
        }
        let mut of_streams = StreamSelections::default();
        for (dimension, selection) in STREAM_DIMENSIONS.iter().zip(&mut of_streams.dimensions) {
            let StreamDimension { name, words, .. } = dimension;
            *selection = match words {
                _ if *name == STREAM_KIND => selected_kind(given.texts(name))?,
                Some(words) => selected_of(name, &words(), given.texts(name))?,
                None => selected(name, given.texts(name))?,
            };
        }
        for name in given.names(ATTRIBUTE) {
            let key = AttributeKey::of_dimension(&name).ok_or_else(|| no_attribute(&name))?;
            of_streams.attributes.insert(key, selected(&name, given.texts(&name))?);
        }
        let filter = Self::new(selections, of_streams, given.sites().clone());
        match (filter.selection(Dimension::Site), filter.sites().names()) {
            (Selection::Only(asked), Some(names))
                if !asked.iter().all(|site| filter.sites().allows(site)) =>
            {
                let names = names.join("`, `");
                let message = format!(
                    "the token is limited to other sites: leave out `site`, or name one of `{names}`"
                );
                Err(ApiError::new(Reason::SiteForbidden, message))
            }
            _ => Ok(filter),
        }
    }
}

/// A filter by what alerts are made for: a use case of a site.
pub(crate) struct AlertFilter(pub(crate) Filter);

impl FromQuery for AlertFilter {
    fn openapi() -> Vec<Value> {
        let names = OF_ALERTS.map(Dimension::name);
        Filter::openapi().into_iter().filter(|one| names.iter().any(|name| one["name"] == *name)).collect()
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        let is_of_streams =
            |name: &str| name.starts_with(ATTRIBUTE) || GroupBy::all().any(|by| by.name() == name);
        let is_of_alerts = |name: &str| OF_ALERTS.iter().any(|dimension| dimension.name() == name);
        let names = given.names("");
        match names.iter().find(|name| is_of_streams(name) && !is_of_alerts(name)) {
            Some(name) => Err(bad(format!(
                "`{}` cannot filter alerts, which judge all streams of a use case: use `site` or `use_case`",
                shorten(name)
            ))),
            None => Filter::read(given).map(Self),
        }
    }
}

const OF_ALERTS: [Dimension; 2] = [Dimension::Site, Dimension::UseCase];

/// A parameter that may be given several times.
fn value_list(name: &str, about: &str) -> Value {
    let list = json!({ "type": "array", "items": { "type": "string" }, "maxItems": MOST_VALUES });
    parameter(name, about, &list)
}

/// The values that a filter selects, from the texts of its parameter.
fn selected(name: &str, texts: Vec<String>) -> Result<Selection, ApiError> {
    if texts.len() > MOST_VALUES {
        return Err(bad(format!("`{name}` may be given at most {MOST_VALUES} times")));
    }
    if texts.iter().any(|text| text == "!") {
        return Err(bad(format!("a value must follow `!` in `{name}`")));
    }
    let excluded: BTreeSet<_> =
        texts.iter().filter_map(|text| text.strip_prefix('!')).map(str::to_owned).collect();
    match (texts.is_empty(), excluded.is_empty()) {
        (true, _) => Ok(Selection::All),
        (_, true) => Ok(Selection::Only(texts.into_iter().collect())),
        _ if texts.iter().all(|text| text.starts_with('!')) => Ok(Selection::Except(excluded)),
        _ => Err(bad(format!("`{name}` selects values or excludes them with `!`, not both"))),
    }
}

/// The parameter of the kind, which takes one value.
fn kind() -> Value {
    let about = "Only this kind of streams. Statistics never mix kinds: to see several, group by it.";
    let words = json!({ "type": "string", "enum": StreamKind::WORDS, "default": StreamKind::Answer });
    parameter(STREAM_KIND, about, &words)
}

/// Absent, it selects answers: see [`Filter::selects_kind`].
fn selected_kind(texts: Vec<String>) -> Result<Selection, ApiError> {
    if texts.len() > 1 || !texts.iter().all(|text| StreamKind::from_word(text).is_some()) {
        let words = StreamKind::WORDS.join(", ");
        return Err(bad(format!("`{STREAM_KIND}` must be one of {words}, and is given once")));
    }
    selected(STREAM_KIND, texts)
}

/// A parameter that may be given several times, with certain words.
fn one_of(name: &str, about: &str, words: &[&str]) -> Value {
    let excluded = words.iter().map(|word| format!("!{word}"));
    let accepted: Vec<_> = words.iter().map(|word| (*word).to_owned()).chain(excluded).collect();
    let list =
        json!({ "type": "array", "items": { "type": "string", "enum": accepted }, "maxItems": MOST_VALUES });
    parameter(name, about, &list)
}

/// The same as [`selected`], but each text must be one of the words.
fn selected_of(name: &str, words: &[&str], texts: Vec<String>) -> Result<Selection, ApiError> {
    let is_known = |text: &String| words.contains(&text.strip_prefix('!').unwrap_or(text));
    if !texts.iter().all(is_known) {
        let words = words.join(", ");
        return Err(bad(format!("`{name}` must be one of {words}, or one after `!`")));
    }
    selected(name, texts)
}

/// Meaning of the filter of a dimension with certain words.
fn about_words(name: &str, words: &[&str]) -> String {
    let none = if words.contains(&NONE) { " `none`: without one." } else { "" };
    format!("Only single streams with this {name}.{none}")
}

/// Most values of a filter.
const MOST_VALUES: usize = 50;

impl Param for Metric {
    const NAME: &'static str = "metric";
    const ABOUT: &'static str = "Metric of the distribution.";
    const DEFAULT: Option<&'static str> = Some("ttfv");

    fn accepts() -> Accepts<Self> {
        Accepts::words(metric::selectable().map(|metric| (metric.id(), metric)))
    }
}

/// By its id.
impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// A metric with censored waits.
pub(crate) struct WaitMetric {
    pub(crate) metric: Metric,
    pub(crate) censored: CensoredMetrics,
}

impl Param for WaitMetric {
    const NAME: &'static str = Metric::NAME;
    const ABOUT: &'static str = "Wait for visible text (ttfv) or for any text (ttft).";
    const DEFAULT: Option<&'static str> = Metric::DEFAULT;

    fn accepts() -> Accepts<Self> {
        let wait = |metric: Metric| Some((metric.id(), Self { metric, censored: metric.censored()? }));
        Accepts::words(metric::selectable().filter_map(wait))
    }
}

/// Length of a step.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) ms: i64,
}

impl Param for Step {
    const NAME: &'static str = "step";
    const ABOUT: &'static str = "Seconds per point. Default: a step that gives at most 120 points.";

    fn accepts() -> Accepts<Self> {
        let value = |seconds| Self { ms: seconds * 1_000 };
        Accepts::Whole { min: 60, max: LONGEST_MS / 1_000, multiple_of: 60, value }
    }
}

/// Start of the part of a range whose points are requested.
#[derive(Clone, Copy)]
pub(crate) struct Since(pub(crate) i64);

impl Param for Since {
    const NAME: &'static str = "since";
    const ABOUT: &'static str =
        "Only the points from the step on that contains this time, in milliseconds since 1970.";

    fn accepts() -> Accepts<Self> {
        Accepts::Whole { min: 0, max: LATEST_MS, multiple_of: 1, value: Self }
    }
}

/// Time from which on reports are requested whole.
#[derive(Clone, Copy)]
pub(crate) struct ReceivedSince(pub(crate) i64);

impl Param for ReceivedSince {
    const NAME: &'static str = Since::NAME;
    const ABOUT: &'static str =
        "Streams whose latest revision arrived before this time, in milliseconds since 1970, are only named.";

    fn accepts() -> Accepts<Self> {
        Accepts::Whole { min: 0, max: LATEST_MS, multiple_of: 1, value: Self }
    }
}

/// The dimension that a query groups by.
#[derive(Clone, Copy)]
pub(crate) enum GroupBy {
    /// Windows have it.
    Windows(Dimension),
    /// Only single streams have it.
    Streams(&'static StreamDimension),
    /// Only single streams have it, and the app names it.
    Attribute(AttributeKey),
}

impl GroupBy {
    /// Fields of a report on which it depends.
    pub(crate) const fn reads(self) -> &'static [&'static str] {
        match self {
            Self::Windows(_) => &[],
            Self::Streams(dimension) => dimension.reads,
            Self::Attribute(_) => &[ATTRIBUTES],
        }
    }

    /// All values of a stream, at least one.
    pub(crate) fn values<'a>(self, stream: &KeptStream<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
        let KeptStream { series, report, .. } = *stream;
        let (one, of_stream) = match self {
            Self::Windows(dimension) => (Some(series[dimension].as_str()), None),
            Self::Streams(dimension) => (None, Some(dimension.values(report))),
            Self::Attribute(key) => (Some(key.value(report).unwrap_or(UNKNOWN)), None),
        };
        one.into_iter().chain(of_stream.into_iter().flatten())
    }

    /// Whether a stream may have several values.
    const fn may_have_several(self) -> bool {
        matches!(self, Self::Streams(dimension) if dimension.may_have_several())
    }

    pub(crate) fn name(self) -> Cow<'static, str> {
        match self {
            Self::Windows(dimension) => dimension.name().into(),
            Self::Streams(dimension) => dimension.name.into(),
            Self::Attribute(key) => key.dimension().into(),
        }
    }

    /// All dimensions that every collector has, those of windows first.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Dimension::all().map(Self::Windows).chain(STREAM_DIMENSIONS.iter().map(Self::Streams))
    }
}

/// One or two dimensions that a query groups by.
#[derive(Clone, Copy)]
pub(crate) struct Grouping {
    pub(crate) by: GroupBy,
    pub(crate) and_by: Option<GroupBy>,
}

impl Grouping {
    /// Whether the dimension with this name is one of them.
    pub(crate) fn has(self, name: &str) -> bool {
        [Some(self.by), self.and_by].iter().flatten().any(|by| by.name() == name)
    }

    /// Whether a stream may count in several groups.
    pub(crate) fn overlaps(self) -> bool {
        [Some(self.by), self.and_by].into_iter().flatten().any(GroupBy::may_have_several)
    }

    /// Whether windows do not have one of the dimensions.
    pub(crate) fn needs_streams(self) -> bool {
        [Some(self.by), self.and_by].iter().flatten().any(|by| !matches!(by, GroupBy::Windows(_)))
    }
}

impl FromQuery for Grouping {
    fn openapi() -> Vec<Value> {
        let mut list = dimensions();
        list["default"] = json!([DEFAULT_BY]);
        vec![parameter(BY, BY_ABOUT, &list)]
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        Option::read(given)?.map_or_else(|| grouped_by(&[DEFAULT_BY.to_owned()]), Ok)
    }
}

/// `None` without `by`.
impl FromQuery for Option<Grouping> {
    fn openapi() -> Vec<Value> {
        vec![parameter(BY, BY_ABOUT, &dimensions())]
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        match &given.texts(BY)[..] {
            [] => Ok(None),
            names => grouped_by(names).map(Some),
        }
    }
}

/// One or two dimensions.
fn dimensions() -> Value {
    let names: Vec<_> = GroupBy::all().map(GroupBy::name).collect();
    let attribute = json!({ "type": "string", "pattern": "^attribute\\.[a-z][a-z0-9_]{0,31}$" });
    let items = json!({ "anyOf": [{ "type": "string", "enum": names }, attribute] });
    json!({ "type": "array", "items": items, "maxItems": 2 })
}

fn grouped_by(names: &[String]) -> Result<Grouping, ApiError> {
    let of_name = |name: &String| {
        let found = GroupBy::all().find(|by| by.name() == *name);
        let attribute = || AttributeKey::of_dimension(name).map(GroupBy::Attribute);
        found.or_else(attribute).ok_or_else(|| {
            let names: Vec<_> = GroupBy::all().map(GroupBy::name).collect();
            bad(format!("`{BY}` must be one of {}, or attribute.KEY", names.join(", ")))
        })
    };
    match names {
        [by] => Ok(Grouping { by: of_name(by)?, and_by: None }),
        [by, and_by] if by != and_by => Ok(Grouping { by: of_name(by)?, and_by: Some(of_name(and_by)?) }),
        _ => Err(bad(format!("`{BY}` may be given twice, with different dimensions"))),
    }
}

fn no_attribute(name: &str) -> ApiError {
    bad(format!(
        "unknown parameter `{}`: an attribute's key has small letters, digits and `_`",
        shorten(name)
    ))
}

const BY: &str = "by";
const BY_ABOUT: &str = "Dimension to group by, or two.";
const DEFAULT_BY: &str = "model";

/// The period that a range is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompareTo {
    /// The period directly before the range. If it has hourly windows only, it is moved back by whole hours.
    Previous,
    /// The period `ms` earlier, at the same time of day.
    Earlier { ms: i64 },
}

impl Param for CompareTo {
    const NAME: &'static str = "compare_to";
    const ABOUT: &'static str =
        "Period to compare with: the equally long period right before, a day earlier, or a week earlier.";

    fn accepts() -> Accepts<Self> {
        Accepts::words([
            ("previous", Self::Previous),
            ("day", Self::Earlier { ms: DAY_MS }),
            ("week", Self::Earlier { ms: 7 * DAY_MS }),
        ])
    }
}

/// The kinds of markers that a query selects.
pub(crate) struct MarkerKinds(Selection);

impl MarkerKinds {
    pub(crate) fn selects(&self, kind: MarkerKind) -> bool {
        self.0.contains(kind.as_str())
    }
}

impl FromQuery for MarkerKinds {
    fn openapi() -> Vec<Value> {
        vec![one_of(KIND, "Only markers of this kind, such as `deploy`.", &kinds())]
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        selected_of(KIND, &kinds(), given.texts(KIND)).map(Self)
    }
}

fn kinds() -> Vec<&'static str> {
    MarkerKind::ALL.map(MarkerKind::as_str).into()
}

const KIND: &str = "kind";

/// Format of a response with a table.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    Json,
    Csv,
}

impl Param for Format {
    const NAME: &'static str = "format";
    const ABOUT: &'static str = "Format of the response.";
    const DEFAULT: Option<&'static str> = Some("json");

    fn accepts() -> Accepts<Self> {
        Accepts::words([("json", Self::Json), ("csv", Self::Csv)])
    }
}

/// Maximum number of results.
pub(crate) struct Limit(pub(crate) usize);

impl Param for Limit {
    const NAME: &'static str = "limit";
    const ABOUT: &'static str = "Maximum number of results.";
    const DEFAULT: Option<&'static str> = Some("50");

    fn accepts() -> Accepts<Self> {
        Accepts::Whole { min: 1, max: 500, multiple_of: 1, value: |limit| Self(limit as usize) }
    }
}

impl Param for SampleKind {
    const NAME: &'static str = "sample";
    const ABOUT: &'static str = "Streams of the samples kept for each site and day: the slowest first, or the \
         newest of the failed streams or of the random sample.";

    fn accepts() -> Accepts<Self> {
        Accepts::words(Self::ALL.map(|sample| (sample.as_str(), sample)))
    }
}

/// The site of one marker. `None` for a marker of all sites.
pub(crate) struct MarkerSite(pub(crate) Option<String>);

impl FromQuery for MarkerSite {
    fn openapi() -> Vec<Value> {
        vec![parameter(
            "site",
            "The marker's site. Absent for a marker of all sites.",
            &json!({ "type": "string" }),
        )]
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        given.text("site").map(Self)
    }
}

/// Position in a list. `None` for its start.
pub(crate) struct Cursor(pub(crate) Option<u64>);

impl FromQuery for Cursor {
    fn openapi() -> Vec<Value> {
        let schema = json!({ "type": "string", "pattern": "^[0-9]{1,18}$" });
        vec![parameter("cursor", "`next` of the previous page.", &schema)]
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        let parse = |text: String| text.parse().ok().filter(|cursor| i64::try_from(*cursor).is_ok());
        let invalid = || bad("`cursor` must be the `next` of the previous page");
        let cursor = given.text("cursor")?.map(|text| parse(text).ok_or_else(invalid)).transpose()?;
        Ok(Self(cursor))
    }
}

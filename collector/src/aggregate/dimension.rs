//! The dimensions: everything that streams can be filtered and grouped by. Series, limits, filters, columns of the
//! stores, query parameters and the dashboard's list follow this table.

use std::collections::{HashMap, HashSet};

use beacon::StreamReport;

use crate::config::{Config, Limits, Site};
use crate::report::country::Country;

/// A dimension, which is also its place in [`DIMENSIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Dimension {
    Site,
    UseCase,
    Provider,
    Model,
    Country,
    ResponseModel,
}

/// What the collector does with a dimension.
pub(crate) struct DimensionSpec {
    pub(crate) dimension: Dimension,
    /// Name in the API, and of its column in the stores.
    pub(crate) name: &'static str,
    /// Completes a sentence that begins with "Only this".
    pub(crate) about: &'static str,
    scope: Scope,
    /// Value of a stream. `None` counts as `unknown`.
    value: for<'a> fn(&'a StreamReport, Option<&'a Country>) -> Option<&'a str>,
    /// Most values of a site; further ones count as `other`. `None` if senders cannot choose the value.
    limit: Option<fn(&Limits) -> usize>,
    /// Names from the configuration, which no limit affects: senders could use it up first. `None` if there are none.
    configured: Option<fn(&Config, &Site) -> Vec<String>>,
}

/// Which statistics a dimension groups.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All statistics. The dimension is a label in Prometheus.
    Label,
    /// Only windows and lists of streams. Cumulative statistics use the series where the value is unknown.
    WindowOnly,
}

/// In the order of columns: the site, other labels, then dimensions of windows only. Stored rollups number the
/// dimensions by this order, so a new one goes to the end. Existing stores get its column, with unknown values.
pub(crate) static DIMENSIONS: [DimensionSpec; 6] = [
    DimensionSpec {
        dimension: Dimension::Site,
        name: "site",
        about: "site",
        scope: Scope::Label,
        value: |report, _| report.site.as_deref(),
        limit: None,
        configured: None,
    },
    DimensionSpec {
        dimension: Dimension::UseCase,
        name: "use_case",
        about: "use case",
        scope: Scope::Label,
        value: |report, _| report.use_case.as_deref(),
        limit: Some(|limits| limits.use_cases),
        configured: Some(|config, site| {
            let targets = site.targets.keys().chain(config.targets.keys());
            targets.chain([&site.use_case]).cloned().collect()
        }),
    },
    DimensionSpec {
        dimension: Dimension::Provider,
        name: "provider",
        about: "provider",
        scope: Scope::Label,
        value: |report, _| report.provider.as_deref(),
        limit: Some(|limits| limits.providers),
        configured: None,
    },
    DimensionSpec {
        dimension: Dimension::Model,
        name: "model",
        about: "model",
        scope: Scope::Label,
        value: |report, _| report.model.as_deref().or(report.response_model.as_deref()),
        limit: Some(|limits| limits.models),
        configured: Some(configured_models),
    },
    DimensionSpec {
        dimension: Dimension::Country,
        name: "country",
        about: "country: a two-letter code in capitals, `other` or `unknown`",
        scope: Scope::WindowOnly,
        value: |_, country| country.map(Country::as_str),
        limit: None,
        configured: None,
    },
    DimensionSpec {
        dimension: Dimension::ResponseModel,
        name: "response_model",
        about: "model that the response names: often a dated version of the requested one",
        scope: Scope::WindowOnly,
        value: |report, _| report.response_model.as_deref(),
        limit: Some(|limits| limits.models),
        configured: Some(configured_models),
    },
];

fn configured_models(config: &Config, _: &Site) -> Vec<String> {
    config.models.values().cloned().collect()
}

impl Dimension {
    pub(crate) const COUNT: usize = DIMENSIONS.len();

    pub(crate) fn spec(self) -> &'static DimensionSpec {
        &DIMENSIONS[self as usize]
    }

    pub(crate) fn name(self) -> &'static str {
        self.spec().name
    }

    pub(crate) fn is_window_only(self) -> bool {
        self.spec().scope == Scope::WindowOnly
    }

    /// All dimensions, in the order of columns.
    pub(crate) fn all() -> impl DoubleEndedIterator<Item = Self> {
        DIMENSIONS.iter().map(|spec| spec.dimension)
    }

    /// The dimensions that are labels in Prometheus.
    pub(crate) fn labels() -> impl DoubleEndedIterator<Item = Self> {
        Self::all().filter(|dimension| !dimension.is_window_only())
    }

    /// The dimensions that group only windows.
    pub(crate) fn window_only() -> impl DoubleEndedIterator<Item = Self> {
        Self::all().filter(|dimension| dimension.is_window_only())
    }
}

/// Names of all dimensions, in the order of columns.
pub fn dimension_names() -> impl Iterator<Item = &'static str> {
    DIMENSIONS.iter().map(|spec| spec.name)
}

/// The values of a stream, regardless of limits.
pub(super) fn values_of<'a>(
    report: &'a StreamReport,
    country: Option<&'a Country>,
) -> [&'a str; Dimension::COUNT] {
    DIMENSIONS.each_ref().map(|spec| (spec.value)(report, country).unwrap_or(UNKNOWN))
}

/// The columns of some dimensions, separated by commas.
pub(crate) fn columns(dimensions: impl Iterator<Item = Dimension>) -> String {
    dimensions.map(Dimension::name).collect::<Vec<_>>().join(", ")
}

/// Names from the configuration, by site.
pub(crate) struct ConfiguredNames(HashMap<String, [HashSet<String>; Dimension::COUNT]>);

impl ConfiguredNames {
    pub(crate) fn of(config: &Config) -> Self {
        let names = |site: &Site| {
            DIMENSIONS
                .each_ref()
                .map(|spec| spec.configured.into_iter().flat_map(|names| names(config, site)).collect())
        };
        Self(config.sites.iter().map(|site| (site.name.clone(), names(site))).collect())
    }

    /// The limit of values that counts the value. `None` if it is not limited.
    pub(super) fn limit(
        &self,
        limits: &Limits,
        site: &str,
        dimension: Dimension,
        value: &str,
    ) -> Option<usize> {
        let limit = dimension.spec().limit?;
        (!self.has(site, dimension, value)).then(|| limit(limits))
    }

    /// Whether the value keeps its name beyond all limits.
    pub(crate) fn has(&self, site: &str, dimension: Dimension, value: &str) -> bool {
        let is_ours = value == UNKNOWN || value == OTHER;
        is_ours || self.0.get(site).is_some_and(|names| names[dimension as usize].contains(value))
    }
}

impl DimensionSpec {
    /// Whether values can overflow to `other`.
    pub(super) fn is_limited(&self) -> bool {
        self.limit.is_some() || self.scope == Scope::WindowOnly
    }
}

/// Value of a stream that has none.
pub(crate) const UNKNOWN: &str = "unknown";

/// Value of all streams over a limit.
pub(crate) const OTHER: &str = "other";

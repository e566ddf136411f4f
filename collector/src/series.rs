//! Which series a report counts in: label values come in, a number goes out. Each site may bring so
//! many values of each label; what is beyond counts as `other`, and that is counted too.

use std::collections::{HashMap, HashSet};

use beacon::StreamReport;

use crate::config::Limits;

/// The labels of everything that is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Series {
    pub(crate) site: String,
    pub(crate) use_case: String,
    pub(crate) provider: String,
    pub(crate) model: String,
}

/// Number of a series, in memory and in the store.
pub(crate) type SeriesId = u32;

/// A bound that a site ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Overflow {
    UseCase,
    Provider,
    Model,
    Series,
}

impl Overflow {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::UseCase => "use_case",
            Self::Provider => "provider",
            Self::Model => "model",
            Self::Series => "series",
        }
    }
}

/// Every series there is.
pub(crate) struct Book {
    limits: Limits,
    all: Vec<Series>,
    /// By the four labels with a zero byte between; no label holds one.
    by_labels: HashMap<String, SeriesId>,
    sites: HashMap<String, SiteLabels>,
    /// How many of `all` the store has.
    stored: usize,
    scratch: String,
}

#[derive(Default)]
struct SiteLabels {
    use_cases: HashSet<String>,
    providers: HashSet<String>,
    models: HashSet<String>,
    series: usize,
}

impl Book {
    /// The series that the store has, in the order of their numbers.
    pub(crate) fn new(limits: Limits, stored: Vec<Series>) -> Self {
        let mut book = Self {
            limits,
            all: Vec::new(),
            by_labels: HashMap::new(),
            sites: HashMap::new(),
            stored: 0,
            scratch: String::new(),
        };
        for series in stored {
            book.insert(series);
        }
        book.stored = book.all.len();
        book
    }

    /// The series of a report, and the bounds that its labels ran into.
    pub(crate) fn of(&mut self, report: &StreamReport, mut overflow: impl FnMut(Overflow)) -> SeriesId {
        let labels = labels_of(report);
        let [site, use_case, provider, model] = labels;
        join(&mut self.scratch, labels);
        if let Some(id) = self.by_labels.get(&self.scratch) {
            return *id;
        }
        let known = self.sites.entry(site.to_owned()).or_default();
        let limits = &self.limits;
        let mut bound = |set: &HashSet<String>, value: &str, limit: usize, kind: Overflow| {
            if set.contains(value) || set.len() < limit || value == UNKNOWN || value == OTHER {
                return value.to_owned();
            }
            overflow(kind);
            OTHER.to_owned()
        };
        let mut series = Series {
            site: site.to_owned(),
            use_case: bound(&known.use_cases, use_case, limits.use_cases, Overflow::UseCase),
            provider: bound(&known.providers, provider, limits.providers, Overflow::Provider),
            model: bound(&known.models, model, limits.models, Overflow::Model),
        };
        if !self.has(&series) && self.sites.get(site).is_some_and(|known| known.series >= self.limits.series)
        {
            overflow(Overflow::Series);
            series = Series {
                use_case: OTHER.to_owned(),
                provider: OTHER.to_owned(),
                model: OTHER.to_owned(),
                ..series
            };
        }
        self.insert(series)
    }

    /// Series that the store does not have yet.
    pub(crate) fn unstored(&self) -> impl Iterator<Item = (SeriesId, &Series)> {
        self.all.iter().enumerate().skip(self.stored).map(|(id, series)| (id as SeriesId, series))
    }

    /// The store has them all now.
    pub(crate) const fn mark_stored(&mut self) {
        self.stored = self.all.len();
    }

    fn has(&mut self, series: &Series) -> bool {
        join(&mut self.scratch, series.labels());
        self.by_labels.contains_key(&self.scratch)
    }

    fn insert(&mut self, series: Series) -> SeriesId {
        join(&mut self.scratch, series.labels());
        if let Some(id) = self.by_labels.get(&self.scratch) {
            return *id;
        }
        let known = self.sites.entry(series.site.clone()).or_default();
        for (set, value) in [
            (&mut known.use_cases, &series.use_case),
            (&mut known.providers, &series.provider),
            (&mut known.models, &series.model),
        ] {
            if value != UNKNOWN && value != OTHER {
                set.insert(value.clone());
            }
        }
        known.series += 1;
        let id = self.all.len() as SeriesId;
        self.by_labels.insert(self.scratch.clone(), id);
        self.all.push(series);
        id
    }
}

impl Series {
    /// As the report names it, whatever the bounds.
    pub(crate) fn named_by(report: &StreamReport) -> Self {
        let [site, use_case, provider, model] = labels_of(report).map(str::to_owned);
        Self { site, use_case, provider, model }
    }

    fn labels(&self) -> [&str; 4] {
        [&self.site, &self.use_case, &self.provider, &self.model]
    }
}

fn labels_of(report: &StreamReport) -> [&str; 4] {
    let model = report.model.as_deref().or(report.response_model.as_deref());
    [report.site.as_deref(), report.use_case.as_deref(), report.provider.as_deref(), model]
        .map(|label| label.unwrap_or(UNKNOWN))
}

/// Label of what a report does not say.
const UNKNOWN: &str = "unknown";

/// Label of what is beyond a bound.
pub(crate) const OTHER: &str = "other";

fn join(scratch: &mut String, labels: [&str; 4]) {
    scratch.clear();
    for label in labels {
        scratch.push_str(label);
        scratch.push('\0');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(model: &str, provider: &str) -> StreamReport {
        StreamReport {
            site: Some("demo".into()),
            use_case: Some("chat".into()),
            provider: Some(provider.to_owned().into()),
            model: Some(model.to_owned().into()),
            ..StreamReport::new("0")
        }
    }

    fn limits(models: usize, series: usize) -> Limits {
        Limits { models, series, ..Limits::default() }
    }

    #[test]
    fn the_same_labels_are_the_same_series() {
        let mut book = Book::new(Limits::default(), Vec::new());
        let first = book.of(&report("a", "p"), |_| unreachable!());
        assert_eq!(book.of(&report("a", "p"), |_| unreachable!()), first);
        assert_ne!(book.of(&report("b", "p"), |_| unreachable!()), first);
    }

    #[test]
    fn a_thousand_made_up_models_become_as_many_as_allowed_and_other() {
        let mut book = Book::new(limits(100, 2000), Vec::new());
        let mut overflowed = 0;
        for n in 0..1_000 {
            book.of(&report(&format!("made-up-{n}"), "p"), |kind| {
                assert_eq!(kind, Overflow::Model);
                overflowed += 1;
            });
        }
        assert_eq!((book.all.len(), overflowed), (101, 900));
        assert_eq!(book.all.last().unwrap().model, OTHER);
    }

    #[test]
    fn combinations_are_bounded_too() {
        let mut book = Book::new(limits(100, 10), Vec::new());
        let mut kinds = Vec::new();
        for n in 0..20 {
            book.of(&report(&format!("m{n}"), &format!("p{n}")), |kind| kinds.push(kind));
        }
        assert_eq!(book.all.len(), 11);
        assert_eq!(kinds, [Overflow::Series; 10]);
    }

    #[test]
    fn what_the_store_has_counts_towards_the_bound() {
        let mut book = Book::new(limits(1, 2000), Vec::new());
        book.of(&report("a", "p"), |_| {});
        let mut book = Book::new(limits(1, 2000), book.all);
        assert_eq!(book.unstored().count(), 0);
        let other = book.of(&report("b", "p"), |_| {});
        assert_eq!(book.all[other as usize].model, OTHER);
    }
}

//! Maps the labels of a report to its series. The number of values per label is limited for each site; further values
//! count as `other`. Names in the configuration are never limited, as senders could use up the limit first.

use std::collections::{HashMap, HashSet};

use beacon::StreamReport;

use crate::config::{Config, Limits};
use crate::report::country::Country;

/// The labels of everything that is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Series {
    pub(crate) site: String,
    pub(crate) use_case: String,
    pub(crate) provider: String,
    pub(crate) model: String,
    /// Only windows are grouped by country: cumulative statistics use the series with an unknown country.
    pub(crate) country: String,
}

/// Number of a series, in memory and in the store.
pub(crate) type SeriesId = u32;

/// A limit that a site has exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Overflow {
    UseCase,
    Provider,
    Model,
    Series,
    Country,
}

impl Overflow {
    pub(crate) const ALL: [Self; 5] =
        [Self::UseCase, Self::Provider, Self::Model, Self::Series, Self::Country];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::UseCase => "use_case",
            Self::Provider => "provider",
            Self::Model => "model",
            Self::Series => "series",
            Self::Country => "country",
        }
    }
}

/// All series.
pub(crate) struct SeriesIndex {
    limits: Limits,
    configured: Configured,
    all: Vec<Series>,
    /// For each series, the one with the same labels over all countries.
    over_countries: Vec<SeriesId>,
    /// By all labels, joined with zero bytes; no label contains one.
    by_labels: HashMap<String, SeriesId>,
    sites: HashMap<String, SiteLabels>,
    /// Number of series that the store has.
    stored: usize,
    scratch: String,
}

/// Names from the configuration.
#[derive(Default)]
struct Configured {
    /// By site.
    use_cases: HashMap<String, HashSet<String>>,
    models: HashSet<String>,
}

/// Label values of a site, without the configured ones.
#[derive(Default)]
struct SiteLabels {
    use_cases: HashSet<String>,
    providers: HashSet<String>,
    models: HashSet<String>,
    /// Number of series over all countries.
    series: usize,
    /// Number of series with a country.
    country_series: usize,
}

impl SeriesIndex {
    /// Restores the stored series, in the order of their numbers.
    pub(crate) fn new(config: &Config, stored: Vec<Series>) -> Self {
        let mut book = Self {
            limits: config.limits.clone(),
            configured: Configured::of(config),
            all: Vec::new(),
            over_countries: Vec::new(),
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

    /// The series of a report. Calls `overflow` for each limit that its labels exceed.
    pub(crate) fn of(
        &mut self,
        report: &StreamReport,
        country: Option<Country>,
        mut overflow: impl FnMut(Overflow),
    ) -> SeriesId {
        let country = country.as_ref().map_or(UNKNOWN, Country::as_str);
        let [site, use_case, provider, model] = labels_of(report);
        let labels = [site, use_case, provider, model, country];
        join(&mut self.scratch, labels);
        if let Some(id) = self.by_labels.get(&self.scratch) {
            return *id;
        }
        let known = self.sites.entry(site.to_owned()).or_default();
        let limits = &self.limits;
        let mut bound = |is_free: bool, set: &HashSet<String>, value: &str, limit: usize, kind: Overflow| {
            if is_free || set.contains(value) || set.len() < limit {
                return value.to_owned();
            }
            overflow(kind);
            OTHER.to_owned()
        };
        let has_use_case = self.configured.has_use_case(site, use_case);
        let has_model = self.configured.has_model(model);
        let mut series = Series {
            site: site.to_owned(),
            use_case: bound(has_use_case, &known.use_cases, use_case, limits.use_cases, Overflow::UseCase),
            provider: bound(
                is_ours(provider),
                &known.providers,
                provider,
                limits.providers,
                Overflow::Provider,
            ),
            model: bound(has_model, &known.models, model, limits.models, Overflow::Model),
            country: UNKNOWN.to_owned(),
        };
        if !self.has(&series) && self.sites.get(site).is_some_and(|known| known.series >= self.limits.series)
        {
            overflow(Overflow::Series);
            series = Series {
                use_case: if has_use_case { series.use_case } else { OTHER.to_owned() },
                provider: OTHER.to_owned(),
                model: OTHER.to_owned(),
                ..series
            };
        }
        series.country = country.to_owned();
        if country != UNKNOWN
            && !self.has(&series)
            && self.sites.get(site).is_some_and(|known| known.country_series >= self.limits.country_series)
        {
            overflow(Overflow::Country);
            series.country = OTHER.to_owned();
        }
        self.insert(series)
    }

    /// The series of the same labels over all countries.
    pub(crate) fn over_countries(&self, series: SeriesId) -> SeriesId {
        self.over_countries[series as usize]
    }

    /// Whether the series contains values over this limit.
    pub(crate) fn is_beyond(&self, series: SeriesId, bound: Overflow) -> bool {
        let Series { site, use_case, provider, model, country } = &self.all[series as usize];
        match bound {
            Overflow::UseCase => use_case == OTHER,
            Overflow::Provider => provider == OTHER,
            Overflow::Model => model == OTHER,
            Overflow::Series => {
                [provider, model].into_iter().all(|label| label == OTHER)
                    && (use_case == OTHER || self.configured.has_use_case(site, use_case))
            }
            Overflow::Country => country == OTHER,
        }
    }

    /// Series that the store does not have yet.
    pub(crate) fn unflushed(&self) -> impl Iterator<Item = (SeriesId, &Series)> {
        self.all.iter().enumerate().skip(self.stored).map(|(id, series)| (id as SeriesId, series))
    }

    /// The store has all series now.
    pub(crate) const fn mark_flushed(&mut self) {
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
        let over_countries = match series.country.as_str() {
            UNKNOWN => self.all.len() as SeriesId,
            _ => self.insert(Series { country: UNKNOWN.to_owned(), ..series.clone() }),
        };
        let known = self.sites.entry(series.site.clone()).or_default();
        for (is_free, set, value) in [
            (
                self.configured.has_use_case(&series.site, &series.use_case),
                &mut known.use_cases,
                &series.use_case,
            ),
            (is_ours(&series.provider), &mut known.providers, &series.provider),
            (self.configured.has_model(&series.model), &mut known.models, &series.model),
        ] {
            if !is_free {
                set.insert(value.clone());
            }
        }
        let id = self.all.len() as SeriesId;
        match over_countries == id {
            true => known.series += 1,
            false => known.country_series += 1,
        }
        join(&mut self.scratch, series.labels());
        self.by_labels.insert(self.scratch.clone(), id);
        self.over_countries.push(over_countries);
        self.all.push(series);
        id
    }
}

impl Configured {
    fn of(config: &Config) -> Self {
        let everywhere = config.targets.keys();
        let use_cases = config.sites.iter().map(|site| {
            let here = site.targets.keys().chain(everywhere.clone()).chain([&site.use_case]);
            (site.name.clone(), here.cloned().collect())
        });
        Self { use_cases: use_cases.collect(), models: config.models.values().cloned().collect() }
    }

    fn has_use_case(&self, site: &str, name: &str) -> bool {
        is_ours(name) || self.use_cases.get(site).is_some_and(|names| names.contains(name))
    }

    fn has_model(&self, name: &str) -> bool {
        is_ours(name) || self.models.contains(name)
    }
}

impl Series {
    /// The series as the report names it, regardless of limits, over all countries.
    pub(crate) fn named_by(report: &StreamReport) -> Self {
        let [site, use_case, provider, model] = labels_of(report).map(str::to_owned);
        Self { site, use_case, provider, model, country: UNKNOWN.to_owned() }
    }

    fn labels(&self) -> [&str; 5] {
        [&self.site, &self.use_case, &self.provider, &self.model, &self.country]
    }
}

fn labels_of(report: &StreamReport) -> [&str; 4] {
    let model = report.model.as_deref().or(report.response_model.as_deref());
    [report.site.as_deref(), report.use_case.as_deref(), report.provider.as_deref(), model]
        .map(|label| label.unwrap_or(UNKNOWN))
}

/// Label of a field that the report does not have.
pub(crate) const UNKNOWN: &str = "unknown";

/// Label of values over a limit.
pub(crate) const OTHER: &str = "other";

/// Whether the collector has made up this name itself.
fn is_ours(name: &str) -> bool {
    name == UNKNOWN || name == OTHER
}

fn join(scratch: &mut String, labels: [&str; 5]) {
    scratch.clear();
    for label in labels {
        scratch.push_str(label);
        scratch.push('\0');
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::targets::Targets;

    fn report(model: &str, provider: &str) -> StreamReport {
        StreamReport {
            site: Some("demo".into()),
            use_case: Some("chat".into()),
            provider: Some(provider.to_owned().into()),
            model: Some(model.to_owned().into()),
            ..StreamReport::new("0")
        }
    }

    fn limits(models: usize, series: usize) -> Config {
        Config { limits: Limits { models, series, ..Limits::default() }, ..Config::default() }
    }

    #[test]
    fn the_same_labels_are_the_same_series() {
        let mut book = SeriesIndex::new(&Config::default(), Vec::new());
        let first = book.of(&report("a", "p"), None, |_| unreachable!());
        assert_eq!(book.of(&report("a", "p"), None, |_| unreachable!()), first);
        assert_ne!(book.of(&report("b", "p"), None, |_| unreachable!()), first);
    }

    #[test]
    fn models_over_the_limit_share_the_series_other() {
        let mut book = SeriesIndex::new(&limits(100, 2000), Vec::new());
        let mut overflowed = 0;
        for n in 0..1_000 {
            book.of(&report(&format!("made-up-{n}"), "p"), None, |kind| {
                assert_eq!(kind, Overflow::Model);
                overflowed += 1;
            });
        }
        assert_eq!((book.all.len(), overflowed), (101, 900));
        assert_eq!(book.all.last().unwrap().model, OTHER);
    }

    #[test]
    fn combinations_are_bounded_too() {
        let mut book = SeriesIndex::new(&limits(100, 10), Vec::new());
        let mut kinds = Vec::new();
        for n in 0..20 {
            book.of(&report(&format!("m{n}"), &format!("p{n}")), None, |kind| kinds.push(kind));
        }
        assert_eq!(book.all.len(), 11);
        assert_eq!(kinds, [Overflow::Series; 10]);
    }

    #[test]
    fn stored_series_count_toward_the_limit() {
        let mut book = SeriesIndex::new(&limits(1, 2000), Vec::new());
        book.of(&report("a", "p"), None, |_| {});
        let mut book = SeriesIndex::new(&limits(1, 2000), book.all);
        assert_eq!(book.unflushed().count(), 0);
        let other = book.of(&report("b", "p"), None, |_| {});
        assert_eq!(book.all[other as usize].model, OTHER);
    }

    #[test]
    fn configured_names_keep_their_series_beyond_the_limits() {
        let mut config = limits(3, 8);
        config.limits.use_cases = 3;
        config.models = BTreeMap::from([("gpt-5-*".to_owned(), "gpt-5".to_owned())]);
        config.targets = BTreeMap::from([("search".to_owned(), Targets::default())]);
        let of = |book: &mut SeriesIndex, use_case: &str, model: &str, kinds: &mut Vec<_>| {
            let report = StreamReport { use_case: Some(use_case.to_owned().into()), ..report(model, "p") };
            let id = book.of(&report, None, |kind| kinds.push(kind));
            (book.all[id as usize].use_case.clone(), book.all[id as usize].model.clone())
        };
        let mut book = SeriesIndex::new(&config, Vec::new());
        for n in 0..6 {
            of(&mut book, &format!("u{n}"), &format!("m{n}"), &mut Vec::new());
        }
        // Also after a restart, when the names from other senders are known.
        for mut book in [SeriesIndex::new(&config, book.all.clone()), book] {
            let mut kinds = Vec::new();
            for use_case in ["search", "chat"] {
                let named = of(&mut book, use_case, "gpt-5", &mut kinds);
                assert_eq!(named, (use_case.to_owned(), "gpt-5".to_owned()));
                of(&mut book, use_case, "m0", &mut Vec::new());
            }
            assert_eq!(kinds, []);
            assert_eq!(of(&mut book, "u4", "m4", &mut kinds), (OTHER.to_owned(), OTHER.to_owned()));
            // No combination is left, but the use case keeps its name.
            assert_eq!(of(&mut book, "search", "m1", &mut kinds), ("search".to_owned(), OTHER.to_owned()));
            assert_eq!(kinds, [Overflow::UseCase, Overflow::Model, Overflow::Series]);
        }
    }

    #[test]
    fn countries_have_a_limit_of_their_own_and_displace_no_model() {
        let mut config = limits(100, 4);
        config.limits.country_series = 3;
        let mut book = SeriesIndex::new(&config, Vec::new());
        let mut kinds = Vec::new();
        for code in ["DE", "FR", "IT", "ES", "PT", "DE"] {
            book.of(&report("a", "p"), Country::of_code(code), |kind| kinds.push(kind));
        }
        let countries: Vec<_> = book.all.iter().map(|series| series.country.as_str()).collect();
        assert_eq!(countries, [UNKNOWN, "DE", "FR", "IT", OTHER]);
        assert_eq!(kinds, [Overflow::Country; 2]);
        for model in ["b", "c", "d"] {
            book.of(&report(model, "p"), Country::of_code("DE"), |kind| assert_eq!(kind, Overflow::Country));
        }
        assert!(book.all.iter().any(|series| series.model == "d"));
    }

    #[test]
    fn all_countries_share_one_parent_series_also_after_a_restart() {
        let mut book = SeriesIndex::new(&Config::default(), Vec::new());
        let of =
            |book: &mut SeriesIndex, code: &str| book.of(&report("a", "p"), Country::of_code(code), |_| {});
        let over_all = [of(&mut book, "DE"), of(&mut book, ""), of(&mut book, "FR")];
        let over_all = over_all.map(|series| book.over_countries(series));
        assert_eq!(over_all, [over_all[1]; 3]);
        assert_eq!(book.all[over_all[0] as usize].country, UNKNOWN);
        let again = SeriesIndex::new(&Config::default(), book.all.clone());
        assert_eq!((again.all, again.over_countries), (book.all, book.over_countries));
    }
}

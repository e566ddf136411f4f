//! Which series a report gets, within limits and beyond them.

use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::config::targets::Targets;
use crate::report::source::ReportSource;
use crate::time::{DAY_MS, MINUTE_MS};

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

const DAY: i64 = 20_000;

/// Arrival on a day, in a file of the operator.
const fn on(day: i64) -> Arrival {
    Arrival { received_ms: day * DAY_MS, source: ReportSource::Operator }
}

/// Arrival from a network, so many minutes after the day began.
const fn from(network: u64, minute: i64) -> Arrival {
    Arrival { received_ms: DAY * DAY_MS + minute * MINUTE_MS, source: ReportSource::Network(network) }
}

/// The model under which a report with this one counts.
fn model_of(book: &mut SeriesIndex, model: &str, arrival: Arrival) -> String {
    let id = book.of(&report(model, "p"), None, arrival, |_| {});
    book.all[id as usize][Dimension::Model].clone()
}

/// Number of models with a place of their own after so many made-up ones from one network.
fn flood(book: &mut SeriesIndex, models: usize, arrival: Arrival) -> usize {
    let source = arrival.source;
    let named = (0..models).map(|n| model_of(book, &format!("{source:?}-{n}"), arrival));
    named.filter(|name| name != OTHER).count()
}

/// All series as the store has them.
fn numbered(book: &SeriesIndex) -> Vec<StoredSeries> {
    let all = book.all.iter().zip(&book.used_day).zip(0..);
    all.map(|((series, used_day), id)| StoredSeries { id, series: series.clone(), used_day: *used_day })
        .collect()
}

#[test]
fn names_without_streams_make_room_for_others() {
    let mut book = SeriesIndex::new(&limits(2, 2000), []);
    let name_of = |book: &mut SeriesIndex, model: &str, day: i64| {
        let id = book.of(&report(model, "p"), None, on(day), |_| {});
        book.all[id as usize][Dimension::Model].clone()
    };
    name_of(&mut book, "kept", DAY);
    name_of(&mut book, "made-up", DAY);
    assert_eq!(name_of(&mut book, "late", DAY), OTHER);
    name_of(&mut book, "kept", DAY + 2);
    assert_eq!(name_of(&mut book, "late", DAY + 2), OTHER, "the made-up name was used two days ago");
    // Also after a restart.
    for mut book in [SeriesIndex::new(&limits(2, 2000), numbered(&book)), book] {
        assert_eq!(name_of(&mut book, "late", DAY + 3), "late");
        assert_eq!(name_of(&mut book, "kept", DAY + 3), "kept");
        assert_eq!(name_of(&mut book, "more", DAY + 3), OTHER);
        assert_eq!(name_of(&mut book, "made-up", DAY + 3), "made-up", "it has its series already");
    }
}

#[test]
fn combinations_without_streams_make_room_for_others() {
    let mut config = limits(100, 2000);
    config.limits.window_series = 2;
    let mut book = SeriesIndex::new(&config, []);
    let country_of = |book: &mut SeriesIndex, code: &str, day: i64| {
        let id = book.of(&report("a", "p"), Country::of_code(code), on(day), |_| {});
        book.all[id as usize][Dimension::Country].clone()
    };
    assert_eq!(["DE", "FR", "IT"].map(|code| country_of(&mut book, code, DAY)), ["DE", "FR", OTHER]);
    assert_eq!(country_of(&mut book, "DE", DAY + 3), "DE");
    assert_eq!(country_of(&mut book, "IT", DAY + 3), "IT");
    assert_eq!(country_of(&mut book, "ES", DAY + 3), OTHER);
}

#[test]
fn the_store_learns_each_day_of_a_series_once() {
    let mut book = SeriesIndex::new(&Config::default(), []);
    let id = book.of(&report("a", "p"), Country::of_code("DE"), on(DAY), |_| {});
    assert_eq!((book.unflushed().count(), book.newly_used().count()), (2, 0));
    book.mark_flushed();
    book.of(&report("a", "p"), Country::of_code("DE"), on(DAY), |_| {});
    assert_eq!(book.newly_used().count(), 0);
    book.of(&report("a", "p"), Country::of_code("DE"), on(DAY + 1), |_| {});
    assert_eq!(book.newly_used().collect::<Vec<_>>(), [(id - 1, DAY + 1), (id, DAY + 1)]);
    // A clock that was set back changes nothing.
    book.mark_flushed();
    book.of(&report("a", "p"), Country::of_code("DE"), on(DAY), |_| {});
    assert_eq!(book.newly_used().count(), 0);
}

#[test]
fn deleted_series_leave_all_others_their_numbers() {
    let mut book = SeriesIndex::new(&Config::default(), []);
    let ids = ["a", "b", "c"].map(|model| book.of(&report(model, "p"), None, on(DAY), |_| unreachable!()));
    let mut stored = numbered(&book);
    stored.remove(1);
    let mut book = SeriesIndex::new(&limits(2, 2), stored);
    assert_eq!(book.of(&report("a", "p"), None, on(DAY), |_| unreachable!()), ids[0]);
    assert_eq!(book.of(&report("c", "p"), None, on(DAY), |_| unreachable!()), ids[2]);
    assert_eq!(book.unflushed().count(), 0);
    let mut overflowed = 0;
    let other = book.of(&report("b", "p"), None, on(DAY), |_| overflowed += 1);
    assert!(other > ids[2] && overflowed > 0, "limits count the series that are left");
    assert_eq!(book.cumulative(ids[2], &report("c", "p")).series, ids[2]);
}

#[test]
fn the_same_labels_are_the_same_series() {
    let mut book = SeriesIndex::new(&Config::default(), []);
    let first = book.of(&report("a", "p"), None, on(DAY), |_| unreachable!());
    assert_eq!(book.of(&report("a", "p"), None, on(DAY), |_| unreachable!()), first);
    assert_ne!(book.of(&report("b", "p"), None, on(DAY), |_| unreachable!()), first);
}

#[test]
fn models_over_the_limit_share_the_series_other() {
    let mut book = SeriesIndex::new(&limits(100, 2000), []);
    let mut overflowed = 0;
    for n in 0..1_000 {
        book.of(&report(&format!("made-up-{n}"), "p"), None, on(DAY), |kind| {
            assert_eq!(kind, Overflow::Of(Dimension::Model));
            overflowed += 1;
        });
    }
    assert_eq!((book.all.len(), overflowed), (101, 900));
    assert_eq!(book.all.last().unwrap()[Dimension::Model], OTHER);
}

#[test]
fn combinations_are_bounded_too() {
    let mut book = SeriesIndex::new(&limits(100, 10), []);
    let mut kinds = Vec::new();
    for n in 0..20 {
        book.of(&report(&format!("m{n}"), &format!("p{n}")), None, on(DAY), |kind| kinds.push(kind));
    }
    assert_eq!(book.all.len(), 11);
    assert_eq!(kinds, [Overflow::Series; 10]);
}

#[test]
fn stored_series_count_toward_the_limit() {
    let mut book = SeriesIndex::new(&limits(1, 2000), []);
    book.of(&report("a", "p"), None, on(DAY), |_| {});
    let mut book = SeriesIndex::new(&limits(1, 2000), numbered(&book));
    assert_eq!(book.unflushed().count(), 0);
    let other = book.of(&report("b", "p"), None, on(DAY), |_| {});
    assert_eq!(book.all[other as usize][Dimension::Model], OTHER);
}

#[test]
fn configured_names_keep_their_series_beyond_the_limits() {
    let mut config = limits(3, 8);
    config.limits.use_cases = 3;
    config.models = BTreeMap::from([("gpt-5-*".to_owned(), "gpt-5".to_owned())]);
    config.targets = BTreeMap::from([("search".to_owned(), Targets::default().into())]);
    let of = |book: &mut SeriesIndex, use_case: &str, model: &str, kinds: &mut Vec<_>| {
        let report = StreamReport { use_case: Some(use_case.to_owned().into()), ..report(model, "p") };
        let id = book.of(&report, None, on(DAY), |kind| kinds.push(kind));
        (book.all[id as usize][Dimension::UseCase].clone(), book.all[id as usize][Dimension::Model].clone())
    };
    let mut book = SeriesIndex::new(&config, []);
    for n in 0..6 {
        of(&mut book, &format!("u{n}"), &format!("m{n}"), &mut Vec::new());
    }
    // Also after a restart, when the names from other senders are known.
    for mut book in [SeriesIndex::new(&config, numbered(&book)), book] {
        let mut kinds = Vec::new();
        for use_case in ["search", "chat"] {
            let named = of(&mut book, use_case, "gpt-5", &mut kinds);
            assert_eq!(named, (use_case.to_owned(), "gpt-5".to_owned()));
            of(&mut book, use_case, "m0", &mut Vec::new());
        }
        // In every combination of configured names.
        for n in 0..10 {
            let of_provider =
                StreamReport { use_case: Some("search".into()), ..report("gpt-5", &format!("p{n}")) };
            let id = book.of(&of_provider, None, on(DAY), |_| {});
            assert_eq!(book.all[id as usize][Dimension::Model], "gpt-5");
        }
        assert_eq!(kinds, []);
        assert_eq!(of(&mut book, "u4", "m4", &mut kinds), (OTHER.to_owned(), OTHER.to_owned()));
        // No combination is left, but the use case keeps its name.
        assert_eq!(of(&mut book, "search", "m1", &mut kinds), ("search".to_owned(), OTHER.to_owned()));
        assert_eq!(
            kinds,
            [Overflow::Of(Dimension::UseCase), Overflow::Of(Dimension::Model), Overflow::Series]
        );
    }
}

#[test]
fn countries_have_a_limit_of_their_own_and_displace_no_model() {
    let mut config = limits(100, 4);
    config.limits.window_series = 3;
    let mut book = SeriesIndex::new(&config, []);
    let mut kinds = Vec::new();
    for code in ["DE", "FR", "IT", "ES", "PT", "DE"] {
        book.of(&report("a", "p"), Country::of_code(code), on(DAY), |kind| kinds.push(kind));
    }
    let countries: Vec<_> = book.all.iter().map(|series| series[Dimension::Country].as_str()).collect();
    assert_eq!(countries, [UNKNOWN, "DE", "FR", "IT", OTHER]);
    assert_eq!(kinds, [Overflow::Of(Dimension::Country); 2]);
    for model in ["b", "c", "d"] {
        book.of(&report(model, "p"), Country::of_code("DE"), on(DAY), |kind| {
            assert_eq!(kind, Overflow::Of(Dimension::Country));
        });
    }
    assert!(book.all.iter().any(|series| series[Dimension::Model] == "d"));
}

#[test]
fn response_models_have_limits_and_displace_no_country() {
    let mut config = limits(2, 2000);
    config.limits.window_series = 3;
    let mut book = SeriesIndex::new(&config, []);
    let of = |book: &mut SeriesIndex, country: &str, response_model: &str, kinds: &mut Vec<_>| {
        let response_model = Some(response_model.to_owned().into());
        let report = StreamReport { response_model, ..report("a", "p") };
        let id = book.of(&report, Country::of_code(country), on(DAY), |kind| kinds.push(kind));
        let series = &book.all[id as usize];
        (series[Dimension::Country].clone(), series[Dimension::ResponseModel].clone())
    };
    let (first, mut kinds) = (of(&mut book, "DE", "a-1", &mut Vec::new()), Vec::new());
    assert_eq!(first, ("DE".to_owned(), "a-1".to_owned()));
    of(&mut book, "DE", "a-2", &mut kinds);
    assert_eq!(kinds, []);
    // The site has two values, and then three series.
    assert_eq!(of(&mut book, "DE", "a-3", &mut kinds).1, OTHER);
    assert_eq!(of(&mut book, "FR", "a-1", &mut kinds), ("FR".to_owned(), OTHER.to_owned()));
    assert_eq!(kinds, [Overflow::Of(Dimension::ResponseModel); 2]);
    let labels: HashSet<_> = book.labels.iter().collect();
    assert_eq!(labels.len(), 1, "all share one series of labels");
    let again = SeriesIndex::new(&config, numbered(&book));
    assert_eq!((again.all, again.labels), (book.all, book.labels));
}

#[test]
fn all_countries_share_one_parent_series_also_after_a_restart() {
    let mut book = SeriesIndex::new(&Config::default(), []);
    let of = |book: &mut SeriesIndex, code: &str| {
        book.of(&report("a", "p"), Country::of_code(code), on(DAY), |_| {})
    };
    let over_all = [of(&mut book, "DE"), of(&mut book, ""), of(&mut book, "FR")];
    let over_all = over_all.map(|series| book.cumulative(series, &report("a", "p")).series);
    assert_eq!(over_all, [over_all[1]; 3]);
    assert_eq!(book.all[over_all[0] as usize][Dimension::Country], UNKNOWN);
    let again = SeriesIndex::new(&Config::default(), numbered(&book));
    assert_eq!((again.all, again.labels), (book.all, book.labels));
}

#[test]
fn otlp_splits_cumulative_statistics_by_response_model() {
    let mut config = Config::default();
    let mut book = SeriesIndex::new(&config, []);
    let key = |book: &mut SeriesIndex, country: &str, response_model: &str, dialect: &str| {
        let report = StreamReport {
            response_model: Some(response_model.to_owned().into()),
            dialect: Some(dialect.to_owned().into()),
            ..report("a", "p")
        };
        let series = book.of(&report, Country::of_code(country), on(DAY), |_| unreachable!());
        let key = book.cumulative(series, &report);
        (book.all[key.series as usize][Dimension::ResponseModel].clone(), key)
    };
    let (name, together) = key(&mut book, "DE", "a-1", "gemini");
    assert_eq!((name.as_str(), together.operation), (UNKNOWN, Operation::Chat));
    // Switched on later: the stored series keep their numbers.
    config.otlp.endpoint = Some("http://127.0.0.1:4318".to_owned());
    let before = book.all.clone();
    let mut book = SeriesIndex::new(&config, numbered(&book));
    let (name, first) = key(&mut book, "DE", "a-1", "gemini");
    assert_eq!((name.as_str(), first.operation), ("a-1", Operation::GenerateContent));
    assert_eq!(key(&mut book, "FR", "a-1", "gemini").1, first, "countries share them");
    assert_ne!(key(&mut book, "DE", "a-2", "gemini").1, first);
    assert_ne!(key(&mut book, "DE", "a-1", "openai_completions").1, first);
    assert_eq!(book.all[..before.len()], before);
}

#[test]
fn one_network_brings_a_quarter_of_the_values_at_once() {
    let mut book = SeriesIndex::new(&limits(100, 2000), []);
    assert_eq!(flood(&mut book, 2_000, from(1, 0)), 25);
    assert_eq!(model_of(&mut book, "honest", from(2, 0)), "honest");
    assert_eq!(flood(&mut book, 2_000, from(2, 0)), 24);
    // Half of the values are taken: the others need proof.
    assert_eq!(model_of(&mut book, "fourth", from(4, 0)), OTHER);
    assert_eq!(model_of(&mut book, "fourth", from(4, 0)), OTHER, "the same network in the same minute");
    assert_eq!(model_of(&mut book, "fourth", from(5, 0)), "fourth");
    assert_eq!(model_of(&mut book, "fourth", from(4, 0)), "fourth");
}

#[test]
fn one_network_brings_half_of_the_values_over_time() {
    let mut book = SeriesIndex::new(&limits(100, 2000), []);
    for minute in 0..10 {
        flood(&mut book, 60, from(1, minute));
    }
    // Also after the next day has counted the values anew.
    assert_eq!(flood(&mut book, 60, from(1, 24 * 60)), 50);
    assert_eq!(model_of(&mut book, "honest", from(2, 24 * 60)), OTHER);
    assert_eq!(model_of(&mut book, "honest", from(2, 24 * 60 + 1)), "honest");
}

#[test]
fn a_later_minute_proves_a_value_of_one_network() {
    let mut book = SeriesIndex::new(&limits(4, 2000), []);
    let names = ["a", "b"].map(|model| model_of(&mut book, model, from(1, 0)));
    assert_eq!(names, ["a", OTHER]);
    assert_eq!(model_of(&mut book, "b", from(1, 1)), "b");
}

#[test]
fn values_without_a_network_need_proof_from_three_quarters_on() {
    let mut book = SeriesIndex::new(&limits(100, 2000), []);
    let local = |minute| Arrival { source: ReportSource::Unnamed, ..from(0, minute) };
    assert_eq!(flood(&mut book, 2_000, local(0)), 75);
    assert_eq!(model_of(&mut book, "honest", local(1)), OTHER);
    assert_eq!(model_of(&mut book, "honest", local(2)), "honest");
    // A backend's facts come without a network and prove nothing about a page's.
    assert_eq!(model_of(&mut book, "page", from(1, 3)), OTHER);
    assert_eq!(model_of(&mut book, "page", local(3)), OTHER);
}

#[test]
fn candidates_of_one_network_displace_no_others() {
    let mut book = SeriesIndex::new(&limits(4, 2000), []);
    for (n, model) in ["a", "b"].into_iter().enumerate() {
        model_of(&mut book, model, from(n as u64, 0));
    }
    assert_eq!(model_of(&mut book, "honest", from(2, 0)), OTHER);
    assert_eq!(flood(&mut book, 10_000, from(3, 0)), 0);
    assert_eq!(model_of(&mut book, "honest", from(2, 1)), "honest");
}

#[test]
fn one_network_brings_half_of_the_combinations() {
    let mut book = SeriesIndex::new(&limits(100, 10), []);
    let mut combination = |n: u64, network: u64| {
        let provider = format!("p{}", n % 4);
        let id = book.of(&report(&format!("m{}", n / 4), &provider), None, from(network, 0), |_| {});
        book.all[id as usize][Dimension::Provider] == provider
    };
    assert_eq!((0..20).filter(|n| combination(*n, 1)).count(), 5);
    assert_eq!((20..30).filter(|n| combination(*n, 2)).count(), 4, "one is `other`");
}

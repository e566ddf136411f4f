//! Rollups equal the sum of their minutes, over days that are filled unevenly.

use std::collections::HashMap;

use beacon::{Outcome, StreamReport};

use super::super::reader::windows;
use super::super::schema;
use super::sealed_hours::{change_sealed_hour, seal, sealed_hour};
use super::*;
use crate::aggregate::dimension::Dimension;
use crate::aggregate::judgement::Judgement;
use crate::aggregate::metric::Metric;
use crate::aggregate::series::Series;
use crate::aggregate::window::WindowKey;
use crate::aggregate::window_stats::WindowStats;
use crate::store::dimension_columns::{insert_into, with_series};
use crate::store::filter::Filter;
use crate::store::query::WindowsQuery;

/// Fourteen and a half days after 1970, at noon.
const NOW: i64 = 14 * DAY_MINUTES + 12 * HOUR_MINUTES;

/// Fills one minute in 17, a number that divides no rollup length.
fn is_filled(minute: &i64) -> bool {
    minute % 17 == 0
}

fn limits() -> config::Store {
    config::Store { windows_hours: 48, history_days: 10, ..config::Store::default() }
}

fn store() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.sqlite");
    let mut connection = Connection::open(&file).unwrap();
    connection.execute_batch("PRAGMA journal_mode = memory; PRAGMA synchronous = off").unwrap();
    schema::migrate(&mut connection, &file).unwrap();
    for (id, values) in (0_u32..).zip(SERIES) {
        let series = Series::new(values.map(str::to_owned));
        connection.execute(&insert_into("series", "id"), with_series(&id, &series)).unwrap();
    }
    (folder, connection)
}

const SERIES: [[&str; Dimension::COUNT]; 4] = [
    ["shop", "chat", "a", "m1", "unknown", "unknown"],
    ["shop", "chat", "a", "m2", "DE", "m2-1"],
    ["shop", "coding", "a", "m1", "DE", "m1-1"],
    ["blog", "coding", "b", "m3", "FR", "unknown"],
];

fn stats(ttft_ms: i64) -> WindowStats {
    let mut stats = WindowStats::default();
    let report =
        StreamReport { outcome: Outcome::Complete, ttft_ms: Some(ttft_ms as f64), ..StreamReport::new("0") };
    stats.add(&report, Judgement::WITHIN_SLO);
    stats
}

/// Writes one stream into a minute of a series, as a flush does.
fn put(connection: &Connection, minute: i64, series: usize) {
    let stats = stats(100 + minute % 700);
    let at = WindowKey { minute, series: series as u32 };
    if let Some(before) = sealed_hour(connection, at).unwrap() {
        let mut now = before.clone();
        now.merge(&stats);
        return change_sealed_hour(connection, at, &before, &now).unwrap();
    }
    touch(connection, minute).unwrap();
    let insert = "INSERT OR REPLACE INTO windows VALUES (?1, ?2, ?3)";
    connection.execute(insert, params![minute, series as i64, stats.encode()]).unwrap();
}

/// Fills nine days unevenly, with the series taking turns.
fn fill(connection: &Connection) {
    for minute in (NOW - 9 * DAY_MINUTES..NOW).filter(is_filled) {
        put(connection, minute, (minute % 4) as usize);
    }
}

fn ask(connection: &Connection, filter: &Filter, minutes: (i64, i64), longest: i64) -> (WindowStats, u64) {
    let (mut sum, mut handed) = (WindowStats::default(), 0);
    windows(
        connection,
        &WindowsQuery { filter, minutes, longest, metrics: &Metric::ALL },
        [],
        |start, [], stats| {
            assert!((minutes.0..minutes.1).contains(&start));
            sum.merge(stats);
            handed += 1;
        },
    )
    .unwrap();
    (sum, handed)
}

fn sum_all(connection: &mut Connection, minute: i64, limits: &config::Store) {
    assert!(build_due(connection, minute, &AtomicBool::new(false)).unwrap());
    seal(connection, oldest_minute_kept(minute, limits.windows_hours)).unwrap();
    trim(connection, minute, limits).unwrap();
}

fn of_sites(names: &[&str]) -> Filter {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    Filter::of_sites(names.into())
}

fn filters() -> [Filter; 21] {
    [
        Filter::default(),
        Filter::default().with(Dimension::Site, "shop").with(Dimension::Model, "m1"),
        Filter::default().with(Dimension::UseCase, "coding").with(Dimension::Provider, "a"),
        Filter::default().with(Dimension::UseCase, "chat").with(Dimension::Provider, "b"),
        Filter::default()
            .with(Dimension::UseCase, "chat")
            .with(Dimension::Provider, "a")
            .with(Dimension::Model, "m1"),
        Filter::default().with(Dimension::Country, "DE"),
        Filter::default().with(Dimension::Country, "DE").with(Dimension::UseCase, "coding"),
        Filter::default().with(Dimension::Country, "FR").with(Dimension::Provider, "b"),
        Filter::default().with(Dimension::Country, "unknown").with(Dimension::Model, "m1"),
        Filter::default()
            .with(Dimension::Country, "DE")
            .with(Dimension::UseCase, "chat")
            .with(Dimension::Model, "m2"),
        Filter::default().with(Dimension::ResponseModel, "m2-1"),
        Filter::default().with(Dimension::ResponseModel, "unknown"),
        Filter::default().with(Dimension::ResponseModel, "m1-1").with(Dimension::UseCase, "coding"),
        Filter::default().with(Dimension::ResponseModel, "m2-1").with(Dimension::Country, "DE"),
        of_sites(&["shop"]),
        of_sites(&["blog", "shop"]).with(Dimension::UseCase, "coding"),
        of_sites(&["blog"]).with(Dimension::Country, "FR").with(Dimension::Provider, "b"),
        of_sites(&["blog"]).with(Dimension::Site, "shop"),
        Filter::default().without(Dimension::Model, &["m1"]),
        Filter::default().without(Dimension::Country, &["DE", "unknown"]).with(Dimension::UseCase, "chat"),
        of_sites(&["blog", "shop"]).without(Dimension::Site, &["shop"]),
    ]
}

#[test]
fn rollups_by_country_begin_with_the_first_country() {
    let (_folder, mut connection) = store();
    let since = NOW - 3 * DAY_MINUTES - 7 * HOUR_MINUTES;
    for minute in (NOW - 5 * DAY_MINUTES..NOW).filter(is_filled) {
        let series = if minute < since { 0 } else { minute % 4 };
        put(&connection, minute, series as usize);
    }
    let mask = config::Store { windows_hours: 10_000, ..limits() };
    let more =
        "SELECT count(*) FROM sums JOIN labels ON id = labels WHERE kept IN (9, 10, 12) AND start < ?1";
    let rows = |connection: &Connection, before: i64| -> i64 {
        connection.query_row(more, [before], |row| row.get(0)).unwrap()
    };
    let range = (NOW - 5 * DAY_MINUTES + 3, NOW - 31);
    let before = filters().map(|filter| ask(&connection, &filter, range, DAY_MINUTES).0);
    sum_all(&mut connection, NOW, &mask);
    assert_eq!(rows(&connection, since.div_euclid(DAY_MINUTES) * DAY_MINUTES), 0);
    assert!(rows(&connection, NOW) > 0);
    for (filter, exact) in filters().into_iter().zip(before) {
        for longest in [DAY_MINUTES, HOUR_MINUTES, FIVE_MINUTES] {
            let (sum, _) = ask(&connection, &filter, range, longest);
            assert_eq!(sum.encode(), exact.encode(), "{filter:?} in windows of {longest}");
        }
    }
}

#[test]
fn rollups_are_exactly_their_minutes() {
    let (_folder, mut connection) = store();
    fill(&connection);
    let range = (NOW - 9 * DAY_MINUTES + 90, NOW - 31);
    let before = filters().map(|filter| ask(&connection, &filter, range, DAY_MINUTES));
    sum_all(&mut connection, NOW, &config::Store { windows_hours: 10_000, ..limits() });
    for (filter, (exact, minutes)) in filters().into_iter().zip(before) {
        for longest in [DAY_MINUTES, HOUR_MINUTES, FIVE_MINUTES, 1] {
            let (sum, handed) = ask(&connection, &filter, range, longest);
            assert_eq!(sum.encode(), exact.encode(), "{filter:?} in windows of {longest}");
            assert!(longest < DAY_MINUTES || minutes == 0 || handed < minutes / 3, "{handed} for {minutes}");
        }
    }
    let streams_of = |filter: &Filter| ask(&connection, filter, range, DAY_MINUTES).0.streams();
    let [shop, blog] = [&["shop"], &["blog"]].map(|names| streams_of(&of_sites(names)));
    assert!(shop > 0 && blog > 0 && shop + blog == streams_of(&Filter::default()), "{shop} {blog}");
    assert_eq!(streams_of(&of_sites(&["blog"]).with(Dimension::Site, "shop")), 0);
    let (all, handed) = ask(&connection, &Filter::default(), range, DAY_MINUTES);
    assert_eq!(all.histogram(Metric::Ttft).count(), (range.0..range.1).filter(is_filled).count() as u64);
    assert!(handed < 8 + 24 + 12 + 20, "{handed}");
}

#[test]
fn minutes_expire_and_their_hours_stay() {
    let (_folder, mut connection) = store();
    fill(&connection);
    let range = (NOW - 9 * DAY_MINUTES, NOW);
    let (exact, _) = ask(&connection, &Filter::default(), range, DAY_MINUTES);
    sum_all(&mut connection, NOW, &limits());
    let first: i64 = connection.query_row("SELECT min(minute) FROM windows", [], |row| row.get(0)).unwrap();
    assert!((NOW - 2 * DAY_MINUTES..NOW - 2 * DAY_MINUTES + HOUR_MINUTES).contains(&first));
    assert_eq!(ask(&connection, &Filter::default(), range, DAY_MINUTES).0.encode(), exact.encode());
}

#[test]
fn late_reports_in_a_sealed_hour_reach_all_its_rollups() {
    let (_folder, mut connection) = store();
    fill(&connection);
    let range = (NOW - 9 * DAY_MINUTES, NOW);
    let late = NOW - 5 * DAY_MINUTES;
    let sums = |connection: &Connection, longest| {
        let asked = filters().map(|filter| ask(connection, &filter, range, longest).0.encode());
        asked.to_vec()
    };
    let exact = {
        let (_folder, connection) = store();
        fill(&connection);
        (0..4).for_each(|series| put(&connection, late + series as i64, series));
        sums(&connection, 1)
    };
    sum_all(&mut connection, NOW, &limits());
    (0..4).for_each(|series| put(&connection, late + series as i64, series));
    assert_eq!(sums(&connection, HOUR_MINUTES), exact, "at once");
    assert_eq!(sums(&connection, DAY_MINUTES), exact, "its day does not stand until it is summed again");
    sum_all(&mut connection, NOW, &limits());
    assert_eq!(sums(&connection, DAY_MINUTES), exact);
    assert_eq!(
        first_hour(&connection).unwrap(),
        Some(oldest_minute_kept(NOW, 48)),
        "no minute of it is there"
    );
}

#[test]
fn a_changed_hour_is_read_by_minutes_until_its_rollup_is_built() {
    let (_folder, mut connection) = store();
    fill(&connection);
    sum_all(&mut connection, NOW, &limits());
    let range = (NOW - 9 * DAY_MINUTES, NOW);
    let (before, _) = ask(&connection, &Filter::default(), range, DAY_MINUTES);
    let free = (NOW - DAY_MINUTES..).find(|minute| !is_filled(minute)).unwrap();
    put(&connection, free, 3);
    let (after, _) = ask(&connection, &Filter::default(), range, DAY_MINUTES);
    assert_eq!(after.streams(), before.streams() + 1);
    sum_all(&mut connection, NOW, &limits());
    assert_eq!(ask(&connection, &Filter::default(), range, DAY_MINUTES).0.encode(), after.encode());
}

#[test]
fn groups_add_up_to_the_whole() {
    let (_folder, mut connection) = store();
    fill(&connection);
    sum_all(&mut connection, NOW, &limits());
    let minutes = (NOW - 9 * DAY_MINUTES, NOW);
    for dimension in Dimension::all() {
        let filter = Filter::default().with(Dimension::Site, "shop");
        let asked = WindowsQuery { filter: &filter, minutes, longest: DAY_MINUTES, metrics: &Metric::ALL };
        let mut groups: HashMap<String, u64> = HashMap::new();
        windows(&connection, &asked, [dimension], |_, [value], stats| {
            *groups.entry(value.to_owned()).or_default() += stats.streams();
        })
        .unwrap();
        let all = ask(&connection, &filter, minutes, DAY_MINUTES).0.streams();
        assert_eq!(groups.values().sum::<u64>(), all, "{dimension:?}: {groups:?}");
        assert!(!groups.contains_key(""), "{groups:?}");
    }
}

#[test]
fn rollups_older_than_the_history_are_dropped() {
    let (_folder, mut connection) = store();
    fill(&connection);
    sum_all(&mut connection, NOW, &limits());
    sum_all(&mut connection, NOW + 6 * DAY_MINUTES, &limits());
    let oldest: i64 = connection.query_row("SELECT min(start) FROM sums", [], |row| row.get(0)).unwrap();
    assert_eq!(oldest, (NOW - 4 * DAY_MINUTES).div_euclid(DAY_MINUTES) * DAY_MINUTES);
}

#[test]
fn minutes_kept_longer_than_the_history_still_expire() {
    let (_folder, mut connection) = store();
    fill(&connection);
    let limits = config::Store { history_days: 1, ..limits() };
    sum_all(&mut connection, NOW, &limits);
    // The state that an earlier version left, which deleted hours before their minutes.
    connection
        .execute(
            "DELETE FROM spans WHERE length = 60 AND start < ?1",
            [NOW - DAY_MINUTES - 22 * HOUR_MINUTES],
        )
        .unwrap();
    let later = NOW + DAY_MINUTES;
    for _ in 0..4 {
        sum_all(&mut connection, later, &limits);
    }
    let first: i64 = connection.query_row("SELECT min(minute) FROM windows", [], |row| row.get(0)).unwrap();
    assert!(
        (later - 2 * DAY_MINUTES..later - 2 * DAY_MINUTES + HOUR_MINUTES).contains(&first),
        "{} too old",
        later - 2 * DAY_MINUTES - first
    );
}

#[test]
fn rollups_that_could_not_be_dropped_are_dropped_later() {
    let (_folder, mut connection) = store();
    fill(&connection);
    assert!(build_due(&mut connection, NOW, &AtomicBool::new(false)).unwrap());
    seal(&connection, oldest_minute_kept(NOW, 48)).unwrap();
    let fail = "CREATE TEMP TRIGGER fail BEFORE DELETE ON sums BEGIN SELECT RAISE(ABORT, 'full'); END";
    connection.execute_batch(fail).unwrap();
    trim(&mut connection, NOW, &limits()).unwrap_err();
    connection.execute_batch("DROP TRIGGER fail").unwrap();
    sum_all(&mut connection, NOW, &limits());
    let oldest = "SELECT min(start) FROM sums WHERE length = 5";
    let oldest: i64 = connection.query_row(oldest, [], |row| row.get(0)).unwrap();
    assert!(oldest >= NOW - 2 * DAY_MINUTES, "{} too old", NOW - 2 * DAY_MINUTES - oldest);
}

#[test]
fn markers_leave_with_the_history() {
    let (_folder, mut connection) = store();
    let insert =
        "INSERT INTO markers (site, id, timestamp_ms, kind, title, url) VALUES ('', ?1, ?1, '', '', '')";
    let oldest = (NOW / DAY_MINUTES - i64::from(limits().history_days)) * DAY_MINUTES * MINUTE_MS;
    for at in [oldest - 1, oldest, NOW * MINUTE_MS] {
        connection.execute(insert, [at]).unwrap();
    }
    sum_all(&mut connection, NOW, &limits());
    let mut left = connection.prepare("SELECT timestamp_ms FROM markers ORDER BY timestamp_ms").unwrap();
    let left: Vec<i64> = left.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(left, [oldest, NOW * MINUTE_MS]);
}

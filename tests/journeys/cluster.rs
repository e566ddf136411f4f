//! Three collectors and ClickHouse's engine beside one collector that is alone, the same beacons for both:
//! they give the same numbers whichever collector a report reaches, when one is killed, and when ClickHouse
//! has been away.

mod beacons;
mod both;
mod clock;
mod deletion;
mod engines;
mod facts;
mod visits;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beacon::{Batch, StreamReport};
use serde_json::{Value, json};
use tests::{ClickHouse, Collector, eventually, free_port, http};
use tokio::time::{Instant, sleep_until};

use beacons::ended;
use both::{Both, post, start, start_one};
use clock::{now_ms, within_a_minute};
use deletion::{Cluster, STREAMS, left, printed};

#[tokio::test(flavor = "multi_thread")]
async fn three_collectors_give_the_numbers_of_one() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    configure(folder.path(), &clickhouse.url)?;
    let mut both = Both::start(folder.path()).await?;

    within_a_minute(both.send(0)).await?;
    both.agree_on_what_arrived().await?;
    both.agree_on_now().await?;
    both.agree_on_the_books().await?;
    both.agree_on_streams().await?;

    within_a_minute(both.send_and_kill(1)).await?;
    both.agree_on_what_arrived().await?;
    both.agree_on_streams().await?;
    let books = both.cluster[0].get("/v1/accounting").await?;
    ensure!(books["reports"]["unaccounted"] == 0 && books["streams"]["open"] == 0, "{books}");

    let start_again = clickhouse.stop().await?;
    let comes_back = Instant::now() + AWAY;
    within_a_minute(both.send(2)).await?;
    let refused = both.cluster[0].get("/v1/summary").await.err().context("no collector can answer")?;
    ensure!(refused.to_string().contains("503"), "{refused}");
    // Meanwhile each settles what it has, and cannot know that revisions are elsewhere.
    eventually("what is open to be settled", || async {
        (both.alone.get("/v1/summary").await.ok()?["open"] == 0).then_some(())
    })
    .await?;
    sleep_until(comes_back).await;
    // The windows of another minute wait with the others.
    within_a_minute(both.send(3)).await?;
    let clickhouse = start_again().await?;
    both.agree_on_what_arrived().await?;
    both.agree_on_streams().await?;

    let mut both = both.a_month_later().await?;
    both.agree_on_history(&clickhouse).await?;
    both.cluster.remove(2).kill().await?;
    both.agree_on_history(&clickhouse).await
}

/// The table that sums are in has got a label more, which became part of its key.
#[tokio::test(flavor = "multi_thread")]
async fn rows_published_without_countries_have_unknown_countries() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    configure(folder.path(), &clickhouse.url)?;
    clickhouse.query("CREATE DATABASE llm_rum").await?;
    clickhouse
        .query(
            "CREATE TABLE llm_rum.llm_rum_windows (
                length UInt16, kept UInt8, start UInt32, site LowCardinality(String),
                use_case LowCardinality(String), provider LowCardinality(String),
                model LowCardinality(String), collector LowCardinality(String), version UInt64,
                written DateTime DEFAULT now(), outcomes Map(LowCardinality(String), UInt64))
            ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(toDateTime(start * 60))
            ORDER BY (length, kept, site, start, use_case, provider, model, collector)
            COMMENT 'llm-rum layout 1'",
        )
        .await?;
    let minute = now_ms() / 60_000 - 5;
    let row = format!("(1, 7, {minute}, 'demo', 'chat', 'p', 'm', 'before', 1, {{'complete': 3}})");
    let columns = "length, kept, start, site, use_case, provider, model, collector, version, outcomes";
    clickhouse.query(&format!("INSERT INTO llm_rum.llm_rum_windows ({columns}) VALUES {row}")).await?;

    let collector = start_one(folder.path(), 0).await?;
    post(&collector, &serde_json::to_string(&Batch { reports: vec![ended(1)] })?).await?;
    eventually("its own stream", || async {
        (collector.get("/v1/summary").await.ok()?["streams"] == 1).then_some(())
    })
    .await?;
    // As a collector says before it publishes a minute.
    let spans =
        [5, 60, 1_440].map(|length| format!("({length}, {}, 'before', 0, 1)", minute / length * length));
    let columns = "length, start, collector, stands, version";
    let spans = spans.join(", ");
    clickhouse.query(&format!("INSERT INTO llm_rum.llm_rum_spans ({columns}) VALUES {spans}")).await?;
    all_is_there(&collector).await?;
    ensure!(sorting_key(&clickhouse).await?.contains("site, start"), "rows have another order");

    ensure!(collector.terminate().await? == Some(0));
    clickhouse.query("RENAME TABLE llm_rum.llm_rum_windows TO llm_rum.llm_rum_windows_before").await?;
    let collector = start_one(folder.path(), 0).await?;
    eventually("a new table", || async {
        sorting_key(&clickhouse).await.ok()?.contains("model, country, response_model, start").then_some(())
    })
    .await?;
    clickhouse.query(&copy_of_rows(&clickhouse).await?).await?;
    all_is_there(&collector).await
}

/// A stream in every other hour, as two collectors published them.
#[tokio::test(flavor = "multi_thread")]
async fn queries_for_traffic_with_idle_hours_stay_short() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    configure(folder.path(), &clickhouse.url)?;
    let collector = start_one(folder.path(), 0).await?;
    eventually("tables", || async {
        clickhouse.query("SELECT count() FROM llm_rum.llm_rum_spans").await.ok()
    })
    .await?;
    let hour = now_ms() / 3_600_000 * 60;
    let spans = format!(
        "INSERT INTO llm_rum.llm_rum_spans (length, start, collector, stands, window_only, version)
         SELECT length, intDiv({hour} - number * 120, length) * length, collector, length < 1440, 1, 1
         FROM (SELECT number, arrayJoin([5, 60, 1440]) AS length, arrayJoin(['one', 'two']) AS collector
             FROM numbers(1, 480))"
    );
    clickhouse.query(&spans).await?;
    let rows = format!(
        "INSERT INTO llm_rum.llm_rum_windows (length, kept, start, site, collector, version, outcomes)
         SELECT 60, 0, {hour} - number * 120, 'demo', collector, 1, map('complete', 1)
         FROM (SELECT number, arrayJoin(['one', 'two']) AS collector FROM numbers(1, 480))"
    );
    clickhouse.query(&rows).await?;
    let answer = collector.get("/v1/timeseries?range=30d&step=3600").await?;
    let points = answer["points"].as_array().context("points")?;
    let streams: u64 = points.iter().filter_map(|point| point["streams"].as_u64()).sum();
    // Thirty days have 360 such hours, with one more or less at their ends.
    ensure!((718..=722).contains(&streams), "{streams} streams: {answer}");
    ensure!(collector.terminate().await? == Some(0));
    Ok(())
}

/// Use cases with characters that have a meaning in SQL, or in the escapes of a parameter.
#[tokio::test(flavor = "multi_thread")]
async fn filters_with_quotes_and_backslashes_find_their_streams() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    configure(folder.path(), &clickhouse.url)?;
    let collector = start_one(folder.path(), 0).await?;
    let use_cases = ["it's", r"C:\temp\new", r"a\'b\\", "{p0:String}", "' OR 1=1 --", r"\N"];
    let reports = use_cases
        .iter()
        .zip(1..)
        .map(|(use_case, number)| StreamReport { use_case: Some((*use_case).into()), ..ended(number) });
    post(&collector, &serde_json::to_string(&Batch { reports: reports.collect() })?).await?;
    eventually("all streams", || async {
        (collector.get("/v1/summary").await.ok()?["streams"] == use_cases.len()).then_some(())
    })
    .await?;
    // No label has a tab or a line feed, but a request may ask for one.
    for (use_case, streams) in use_cases.map(|use_case| (use_case, 1)).into_iter().chain([("a\tb\nc\0", 0)]) {
        let filter: String = use_case.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let summary = collector.get(&format!("/v1/summary?use_case={filter}")).await?;
        ensure!(summary["streams"] == streams, "{use_case:?}: {summary}");
        let listed = collector.get(&format!("/v1/streams?use_case={filter}")).await?;
        ensure!(listed["streams"].as_array().map(Vec::len) == Some(streams), "{use_case:?}: {listed}");
    }
    ensure!(collector.terminate().await? == Some(0));
    Ok(())
}

/// They are posted to ClickHouse, except those of a collector from the time before it joined.
#[tokio::test(flavor = "multi_thread")]
async fn all_collectors_of_a_cluster_have_the_same_markers() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    configure(folder.path(), &clickhouse.url)?;
    let before = start(folder.path(), "alone", "cluster-0").await?;
    ensure!(post_marker(&before, &json!({ "title": "before", "id": "before" })).await? == 201);
    ensure!(before.terminate().await? == Some(0));

    let [one, other] = [start_one(folder.path(), 0).await?, start_one(folder.path(), 1).await?];
    let joined = async || (titles(&other).await.ok()? == ["before"]).then_some(());
    eventually("the marker from before", joined).await?;
    let marker = json!({
        "title": r#"it's "v42" \n"#, "id": "a", "site": "demo", "url": "https://ci.example/1", "kind": "config",
    });
    ensure!(post_marker(&one, &marker).await? == 201);
    ensure!(titles(&other).await? == ["before", r#"it's "v42" \n"#]);
    ensure!(post_marker(&other, &json!({ "title": "retried", "id": "a", "site": "demo" })).await? == 200);
    let [at_one, at_other] = [one.get(MARKERS).await?, other.get(MARKERS).await?];
    ensure!(at_one["markers"] == at_other["markers"], "{at_one} {at_other}");
    let stored = &at_one["markers"][1];
    ensure!((&stored["url"], &stored["kind"]) == (&marker["url"], &marker["kind"]), "{stored}");

    ensure!(delete_marker(&other, "a").await? == 404 && delete_marker(&other, "a?site=demo").await? == 204);
    ensure!(delete_marker(&other, "before").await? == 204 && titles(&one).await?.is_empty());
    // What a collector has published, it does not publish again.
    ensure!(one.terminate().await? == Some(0));
    let one = start_one(folder.path(), 0).await?;
    ensure!(post_marker(&one, &json!({ "title": "again" })).await? == 201);

    let rows = format!(
        "INSERT INTO llm_rum.llm_rum_markers (site, id, timestamp_ms, kind, title, posted_ms)
         SELECT 'demo', toString(number), {now}, 'deploy', toString(number), number FROM numbers(2000)",
        now = now_ms()
    );
    clickhouse.query(&rows).await?;
    ensure!(post_marker(&other, &json!({ "title": "last", "site": "demo" })).await? == 201);
    let count = "SELECT count(), countIf(id = '0'), countIf(title = 'last') FROM llm_rum.llm_rum_markers
        WHERE site = 'demo'";
    let counted: [u64; 3] = serde_json::from_str(&clickhouse.query(count).await?)?;
    ensure!(counted == [2_000, 0, 1], "{counted:?}");
    ensure!(titles(&one).await?.last().map(String::as_str) == Some("last"));

    let start_again = clickhouse.stop().await?;
    ensure!(post_marker(&one, &json!({ "title": "lost", "id": "b" })).await? == 503);
    let _clickhouse = start_again().await?;
    ensure!(post_marker(&one, &json!({ "title": "kept", "id": "b" })).await? == 201);
    ensure!(titles(&other).await?.last().map(String::as_str) == Some("kept"));
    ensure!(one.terminate().await? == Some(0) && other.terminate().await? == Some(0));
    Ok(())
}

const MARKERS: &str = "/v1/markers";

async fn post_marker(collector: &Collector, marker: &Value) -> Result<u16> {
    let url = format!("{}{MARKERS}", collector.url);
    let request = http().post(url).header("content-type", "application/json").body(marker.to_string());
    Ok(request.send().await?.status().as_u16())
}

async fn delete_marker(collector: &Collector, id: &str) -> Result<u16> {
    let url = format!("{}{MARKERS}/{id}", collector.url);
    Ok(http().delete(url).send().await?.status().as_u16())
}

async fn titles(collector: &Collector) -> Result<Vec<String>> {
    let answer = collector.get(MARKERS).await?;
    let markers = answer["markers"].as_array().context("markers")?;
    Ok(markers.iter().filter_map(|marker| Some(marker["title"].as_str()?.to_owned())).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_site_stays_deleted_while_a_cluster_runs() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    let cluster = Cluster::new(folder.path(), &clickhouse)?;
    let (one, two) = (cluster.start("one").await?, cluster.start("two").await?);
    for (collector, first) in [(&one, 0), (&two, 1_000)] {
        cluster.send(collector, "gone", first).await?;
        cluster.send(collector, "kept", first + 500).await?;
    }
    for site in ["gone", "kept"] {
        cluster.until(&one, site, 2 * STREAMS).await?;
    }
    // Its own stream has the first. The other collector claims the second.
    cluster.send_fact(&one, 0, 0).await?;
    cluster.send_fact(&one, 1_000, 1).await?;

    ensure!(one.terminate().await? == Some(0));
    let dry_run = cluster.rows(None).await?;
    let first = printed(&cluster.delete("one", &[]).await?, 3)?;
    let others = left(&first)?;
    ensure!(others.len() == 1 && first["left"]["windows"] == 0, "{first:#}");
    ensure!(first["found"]["clickhouse"].to_string().contains("server_fact_claims"), "{first:#}");
    let rows_of_two = cluster.rows(Some(&others[0])).await?;
    ensure!(cluster.rows(None).await? == rows_of_two && rows_of_two < dry_run, "{rows_of_two} of {dry_run}");
    cluster.until(&two, "gone", STREAMS).await?;
    // The one that runs publishes, and new streams of the site come.
    let one = cluster.start("one").await?;
    cluster.send(&two, "kept", 5_000).await?;
    cluster.until(&one, "kept", 3 * STREAMS).await?;
    cluster.until(&one, "gone", STREAMS).await?;

    ensure!(two.terminate().await? == Some(0));
    let second = printed(&cluster.delete("two", &[]).await?, 0)?;
    ensure!(left(&second)?.is_empty() && cluster.rows(None).await? == 0, "{second:#}");
    let two = cluster.start("two").await?;
    for collector in [&one, &two] {
        cluster.until(collector, "gone", 0).await?;
        cluster.until(collector, "kept", 3 * STREAMS).await?;
    }
    let books = eventually("the accounting", || async {
        let books = one.get("/v1/accounting").await.ok()?;
        (books["reports"]["by_result"]["deleted"] == 2 * STREAMS).then_some(books)
    })
    .await?;
    ensure!(books["streams"]["open"] == 0 && books["reports"]["unaccounted"] == 0, "{books}");
    ensure!(books["streams"]["counted"] == 3 * STREAMS, "{books}");

    cluster.send(&two, "gone", 7_000).await?;
    cluster.until(&one, "gone", STREAMS).await?;
    // Its folder is lost: another collector deletes what it had published.
    two.kill().await?;
    ensure!(one.terminate().await? == Some(0));
    let third = printed(&cluster.delete("one", &[]).await?, 3)?;
    let lost = left(&third)?;
    printed(&cluster.delete("one", &["--lost-collector", &lost[0]]).await?, 0)?;
    ensure!(lost == others && cluster.rows(None).await? == 0, "{lost:?}");

    cluster.configure(&format!("http://127.0.0.1:{}", free_port()?))?;
    let away = cluster.delete("one", &[]).await?;
    let said = String::from_utf8_lossy(&away.stderr).into_owned();
    ensure!(away.status.code() == Some(1) && said.contains("ClickHouse does not answer"), "{away:?}");
    Ok(())
}

/// Three streams of another collector, from an unknown country, and one of its own.
async fn all_is_there(collector: &Collector) -> Result<()> {
    for (filter, streams) in [
        ("country=unknown&model=m", 3),
        ("country=DE&model=m", 0),
        ("country=DE&country=unknown&model=m", 3),
        ("country=!DE&model=m", 3),
        ("country=!unknown&model=m", 0),
        ("model=m", 3),
    ] {
        let summary = collector.get(&format!("/v1/summary?{filter}")).await?;
        ensure!(summary["streams"] == streams, "{filter}: {summary}");
    }
    let groups = collector.get("/v1/breakdown?by=country").await?["groups"].clone();
    ensure!(groups[0]["value"] == "unknown" && groups[0]["streams"].as_u64() >= Some(3), "{groups}");
    Ok(())
}

async fn sorting_key(clickhouse: &ClickHouse) -> Result<String> {
    let key = "SELECT sorting_key FROM system.tables WHERE name = 'llm_rum_windows'";
    clickhouse.query(key).await
}

/// The commands of `docs/cluster.md`.
async fn copy_of_rows(clickhouse: &ClickHouse) -> Result<String> {
    let told = |from: &str, to: &str| -> Result<&str> {
        let (_, rest) = CLUSTER.split_once(from).context("the page has it")?;
        Ok(rest.split_once(to).context("it ends")?.0)
    };
    let columns = clickhouse.query(told("This query gives COLUMNS:\n\n```sql\n", "\n```")?).await?;
    let [columns]: [String; 1] = serde_json::from_str(&columns)?;
    let copy = told("windows_before;\nINSERT", ";")?;
    Ok(format!("INSERT{}", copy.replace("COLUMNS", &columns)))
}

const CLUSTER: &str = include_str!("../../docs/cluster.md");

fn configure(folder: &Path, clickhouse: &str) -> Result<()> {
    let alone = "settle_after_seconds = 3\n[ingest]\nproxies = [\"127.0.0.0/8\"]\n\
                 [country]\nheader = \"cf-ipcountry\"\n\
                 [[sites]]\nname = \"demo\"\nkeys = [\"demo\"]\norigins = [\"loopback\"]\n\
                 attributes = [\"plan\"]\n";
    std::fs::write(folder.join("alone.toml"), alone)?;
    let cluster = format!("{alone}[store.clickhouse]\nurl = \"{clickhouse}\"\npublish_seconds = 1\n");
    Ok(std::fs::write(folder.join("cluster.toml"), cluster)?)
}

/// How long nothing can be published.
const AWAY: Duration = Duration::from_secs(60);

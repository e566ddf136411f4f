//! A cluster beside one collector that is alone: the same beacons go to both, and what either answers comes out
//! the same, or the difference is told.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use beacon::StreamReport;
use rusqlite::Connection;
use serde_json::{Value, json};
use tests::{ClickHouse, Collector, eventually, http};
use tokio::task::JoinSet;

use super::beacons::{MODELS, bodies};
use super::clock::{DAY_MS, now_ms};

/// Three collectors in a cluster, and one that is alone.
pub(super) struct Both {
    pub(super) cluster: Vec<Collector>,
    pub(super) alone: Collector,
    folder: PathBuf,
}

impl Both {
    pub(super) async fn start(folder: &Path) -> Result<Self> {
        let mut cluster = Vec::new();
        for number in 0..COLLECTORS {
            cluster.push(start_one(folder, number).await?);
        }
        let alone = start(folder, "alone", "alone").await?;
        Ok(Self { cluster, alone, folder: folder.to_owned() })
    }

    /// Sends streams whose revisions reach different collectors, some twice.
    pub(super) async fn send(&self, load: u64) -> Result<()> {
        for (number, body) in bodies(load)?.into_iter().enumerate() {
            let first = (number + number / 7) % COLLECTORS;
            for to in [&self.cluster[first], &self.alone] {
                post(to, &body).await?;
            }
            if number % 5 == 0 {
                for to in [&self.cluster[(first + 1) % COLLECTORS], &self.alone] {
                    post(to, &body).await?;
                }
            }
        }
        Ok(())
    }

    /// The same, and in the middle one is killed while beacons are under way to it. Whoever had no answer
    /// sends again, and the balancer chooses another collector.
    pub(super) async fn send_and_kill(&mut self, load: u64) -> Result<()> {
        let bodies = bodies(load)?;
        let (before, rest) = bodies.split_at(bodies.len() / 3);
        let (in_flight, after) = rest.split_at(rest.len() / 2);
        for (number, body) in before.iter().enumerate() {
            post(&self.cluster[number % COLLECTORS], body).await?;
        }
        let victim = self.cluster.remove(1);
        let mut unanswered = in_flight.to_vec();
        let mut answers = JoinSet::new();
        for body in in_flight {
            let (request, body) = (request(&victim.url, body), body.clone());
            answers.spawn(async move {
                let answered = request.send().await.is_ok_and(|said| said.status() == 204);
                answered.then_some(body)
            });
        }
        let mut answered =
            answers.join_next().await.context("some are under way")??.into_iter().collect::<Vec<_>>();
        victim.kill().await?;
        answered.extend(answers.join_all().await.into_iter().flatten());
        unanswered.retain(|body| !answered.contains(body));
        println!("{} of {} answered before the kill", answered.len(), in_flight.len());
        self.cluster.insert(1, start_one(&self.folder, 1).await?);
        for (number, body) in unanswered.iter().chain(after).enumerate() {
            post(&self.cluster[number * 2 % COLLECTORS], body).await?;
        }
        for body in &bodies {
            post(&self.alone, body).await?;
        }
        Ok(())
    }

    pub(super) async fn agree_on_what_arrived(&self) -> Result<()> {
        let cut = |mut summary: Value| {
            let fields = summary.as_object_mut()?;
            // They were asked at different moments.
            ["from", "to", "previous", "throughput"].into_iter().for_each(|field| _ = fields.remove(field));
            fields.get_mut("goodput")?.as_object_mut()?.remove("per_second");
            Some(summary)
        };
        let agreed = eventually("the same summary", || async {
            let alone = cut(self.alone.get("/v1/summary").await.ok()?)?;
            for collector in &self.cluster {
                let cluster = cut(collector.get("/v1/summary").await.ok()?)?;
                (alone["open"] == 0 && cluster == alone).then_some(())?;
            }
            Some(())
        });
        match agreed.await {
            Ok(()) => Ok(()),
            Err(error) => {
                let (alone, cluster) =
                    (self.alone.get("/v1/summary").await?, self.cluster[0].get("/v1/summary").await?);
                Err(error.context(format!("alone: {alone:#}\ncluster: {cluster:#}")))
            }
        }
    }

    pub(super) async fn agree_on_the_books(&self) -> Result<()> {
        // No one collector saw all of a stream's reports in their order: that one was not the first is known
        // of it, and not which kind of later one it was.
        let sum_up = |mut books: Value| -> Option<Value> {
            let by_result = books["reports"]["by_result"].as_object_mut()?;
            let later = ["revised", "duplicate", "stale"].map(|word| by_result.remove(word));
            let later: u64 = later.iter().flatten().filter_map(Value::as_u64).sum();
            by_result.insert("later".to_owned(), later.into());
            // A cluster does not compare them.
            books.as_object_mut()?.remove("last_hour");
            Some(books)
        };
        let alone = sum_up(self.alone.get("/v1/accounting").await?).context("books have reports")?;
        let cluster = sum_up(self.cluster[1].get("/v1/accounting").await?).context("books have reports")?;
        ensure!(alone["reports"]["unaccounted"] == 0 && alone["streams"]["open"] == 0, "{alone:#}");
        ensure!(alone == cluster, "alone: {alone:#}\ncluster: {cluster:#}");
        Ok(())
    }

    /// Each stream is listed once, as its latest revision, and can be asked for alone.
    pub(super) async fn agree_on_streams(&self) -> Result<()> {
        let listed = |mut streams: Vec<StreamReport>| {
            streams.sort_by(|one, other| one.id.cmp(&other.id));
            streams
        };
        let alone = listed(self.alone.streams().await?);
        eventually("the same streams", || async {
            (listed(self.cluster[2].streams().await.ok()?) == alone).then_some(())
        })
        .await?;
        let one = alone.last().context("there are streams")?;
        ensure!(self.cluster[0].final_report(&one.id).await? == *one);
        for asked in [
            "model=m2&outcome=truncated",
            "outcome=!complete&dialect=!none",
            "sample=failed",
            "sample=uniform",
            "sample=slowest&site=demo",
            "browser=firefox&attribute.plan=pro",
            "release=%3D%22v%22%20%5CN&variant=!a",
            "attribute.plan=unknown&os=!android&connection=unknown",
        ] {
            let path = format!("/v1/streams?{asked}&limit=500");
            let ids = |page: Value| -> Option<Vec<String>> {
                let ids =
                    page["streams"].as_array()?.iter().map(|stream| stream["id"].as_str().map(str::to_owned));
                let mut ids: Vec<_> = ids.collect::<Option<_>>()?;
                // What arrived in one millisecond may come in any order.
                if !asked.contains("slowest") {
                    ids.sort();
                }
                Some(ids)
            };
            let (alone, cluster) =
                (ids(self.alone.get(&path).await?), ids(self.cluster[1].get(&path).await?));
            ensure!(alone == cluster, "{path}: alone: {alone:?}\ncluster: {cluster:?}");
            ensure!(alone.is_some_and(|ids| ids.len() > 5), "{path} is about nothing");
        }
        self.agree_on_what_is_in_common().await
    }

    /// The streams arrive at other times here and there, so times are not compared.
    async fn agree_on_what_is_in_common(&self) -> Result<()> {
        for of in ["slow", "failed", "abandoned"] {
            let path = format!("/v1/explain?of={of}&range=6h");
            let counts = |answer: &Value| {
                let findings = answer["findings"].as_array().into_iter().flatten();
                let findings: Vec<_> =
                    findings.map(|one| json!([one["values"], one["affected"], one["streams"]])).collect();
                json!([answer["streams"], answer["affected"], findings])
            };
            let (alone, cluster) = (self.alone.get(&path).await?, self.cluster[1].get(&path).await?);
            ensure!(counts(&alone) == counts(&cluster), "{path}: alone: {alone:#}\ncluster: {cluster:#}");
            ensure!(alone["streams"].as_u64() > Some(100), "{path} is about nothing: {alone:#}");
        }
        let path = "/v1/breakdown?by=dialect&range=6h";
        let (mut alone, mut cluster) = (self.alone.get(path).await?, self.cluster[1].get(path).await?);
        in_order(&mut alone);
        in_order(&mut cluster);
        ensure!(alone["groups"] == cluster["groups"], "{path}: alone: {alone:#}\ncluster: {cluster:#}");
        ensure!(has_values(&alone["groups"]), "{path} is about nothing: {alone:#}");
        let dialect = alone["groups"][0]["value"].as_str().context("a dialect")?.to_owned();
        self.agree_on_facts_of_streams(&dialect).await
    }

    /// Windows do not know these filters, so both read single streams.
    async fn agree_on_facts_of_streams(&self, dialect: &str) -> Result<()> {
        for (path, compared) in [
            (format!("/v1/histogram?range=6h&dialect={dialect}"), "buckets"),
            ("/v1/breakdown?range=6h&by=model&outcome=!complete".to_owned(), "groups"),
            ("/v1/breakdown?range=6h&by=outcome".to_owned(), "groups"),
            ("/v1/breakdown?range=6h&by=defect&by=model".to_owned(), "groups"),
            (format!("/v1/summary?range=6h&outcome=truncated&dialect={dialect}"), "outcomes"),
            (format!("/v1/summary?range=6h&dialect={dialect}"), "goodput"),
            ("/v1/phases?range=6h&by=model".to_owned(), "groups"),
            ("/v1/phases?range=6h&by=browser".to_owned(), "groups"),
            ("/v1/breakdown?range=6h&by=browser&by=attribute.plan".to_owned(), "groups"),
            ("/v1/breakdown?range=6h&by=release&by=model&os=windows".to_owned(), "groups"),
            ("/v1/summary?range=6h&attribute.plan=!free&browser=chrome&browser=safari".to_owned(), "ttfv"),
            ("/v1/histogram?range=6h&metric=e2e&variant=it%27s%20%5C%20b".to_owned(), "buckets"),
        ]
        .into_iter()
        .chain(OF_SINGLE_STREAMS.map(|name| (format!("/v1/breakdown?range=6h&by={name}"), "groups")))
        {
            let (mut alone, mut cluster) = (self.alone.get(&path).await?, self.cluster[1].get(&path).await?);
            in_order(&mut alone);
            in_order(&mut cluster);
            for answer in [&mut alone, &mut cluster] {
                if let Some(goodput) = answer["goodput"].as_object_mut() {
                    goodput.remove("per_second");
                }
            }
            ensure!(alone[compared] == cluster[compared], "{path}: alone: {alone:#}\ncluster: {cluster:#}");
            let is_empty = alone[compared].as_array().is_some_and(Vec::is_empty);
            ensure!(!is_empty && !alone[compared].is_null(), "{path} is about nothing: {alone:#}");
        }
        Ok(())
    }

    /// What happens now is the same but for what only one collector can know.
    pub(super) async fn agree_on_now(&self) -> Result<()> {
        eventually("the same to happen now", || async {
            let (alone, cluster) =
                (self.alone.get("/v1/live").await.ok()?, self.cluster[1].get("/v1/live").await.ok()?);
            let same = ["open", "ttfv", "ttft"].iter().all(|name| alone[name] == cluster[name])
                && alone["ended"]["outcomes"] == cluster["ended"]["outcomes"];
            let told = alone["scope"] == "collector"
                && cluster["scope"] == "cluster"
                && alone["reports_per_second"].is_f64()
                && cluster["reports_per_second"].is_null()
                && cluster["streams"].as_array()?.len() == 10
                && cluster["streams"].as_array()?.iter().all(|stream| stream["open"] != true)
                && cluster["ended"]["streams"].as_u64()? > 0;
            (same && told).then_some(())
        })
        .await
    }

    /// Everything that was counted lies in the past, by model from one day to a month.
    pub(super) async fn a_month_later(self) -> Result<Self> {
        for collector in self.cluster.into_iter().chain([self.alone]) {
            ensure!(collector.terminate().await? == Some(0));
        }
        for number in 0..COLLECTORS {
            age(&self.folder.join(format!("cluster-{number}")))?;
        }
        age(&self.folder.join("alone"))?;
        Self::start(&self.folder).await
    }

    pub(super) async fn agree_on_history(&self, clickhouse: &ClickHouse) -> Result<()> {
        eventually("days to be summed", || async {
            let standing =
                "SELECT countIf(stands), count() FROM llm_rum.llm_rum_spans FINAL WHERE length = 1440";
            let counts: [u64; 2] = serde_json::from_str(&clickhouse.query(standing).await.ok()?).ok()?;
            (counts[0] >= MODELS * 3).then_some(())
        })
        .await?;
        let today = now_ms() / DAY_MS * DAY_MS;
        let month = format!("from={}&to={today}", today - 40 * DAY_MS);
        let since_yesterday = format!("from={}&to={}", today - DAY_MS, today);
        for question in [
            format!("summary?{month}"),
            format!("summary?{month}&model=m3&use_case=chat"),
            format!("summary?{since_yesterday}&compare_to=week"),
            format!("timeseries?{month}&metric=ttft&step=86400"),
            format!("timeseries?{month}&metric=inter_chunk_latency&step=3600&model=m1"),
            format!("timeseries?{since_yesterday}&metric=ttfv&step=60"),
            format!("timeseries?{since_yesterday}&metric=e2e&step=300"),
            format!("histogram?{month}&metric=e2e&compare_to=previous"),
            format!("heatmap?{month}&metric=ttft&step=21600"),
            format!("heatmap?{since_yesterday}&metric=tpot&step=900"),
            format!("compare?{month}&step=86400"),
            format!("integrity?{month}&step=86400&model=m2"),
            format!("abandonment?{month}"),
            format!("abandonment?{since_yesterday}&metric=ttft"),
            format!("breakdown?{month}&by=model"),
            format!("breakdown?{month}&by=provider&model=m4"),
            format!("breakdown?{month}&by=site&compare_to=previous"),
            format!("breakdown?{month}&by=use_case&metric=overhead"),
            format!("breakdown?{month}&by=country"),
            format!("breakdown?{month}&by=country&model=m1"),
            format!("breakdown?{month}&by=response_model"),
            format!("breakdown?{month}&by=response_model&model=m1"),
            format!("breakdown?{since_yesterday}&by=model&country=unknown"),
            format!("timeseries?{month}&metric=ttft&step=3600&country=FR"),
        ] {
            let path = format!("/v1/{question}");
            let mut alone = self.alone.get(&path).await?;
            let mut cluster = self.cluster[0].get(&path).await?;
            in_order(&mut alone);
            in_order(&mut cluster);
            agree_on_in_flight(&mut alone, &mut cluster).context(path.clone())?;
            ensure!(alone == cluster, "{path}: alone: {alone:#}\ncluster: {cluster:#}");
            ensure!(has_values(&alone), "{path} is about nothing: {alone:#}");
        }
        Ok(())
    }
}

/// Groups of the same size may come in any order.
fn in_order(answer: &mut Value) {
    if let Some(groups) = answer["groups"].as_array_mut() {
        groups.sort_by_key(|group| [&group["value"], &group["and_value"]].map(Value::to_string));
    }
}

/// Takes the streams in flight out of the points of both answers and compares their sums. A single point depends on the
/// millisecond in which a report arrives, and no report reaches both sides in the same one.
fn agree_on_in_flight(alone: &mut Value, cluster: &mut Value) -> Result<()> {
    let take = |answer: &mut Value| -> f64 {
        let points = answer["points"].as_array_mut().into_iter().flatten();
        points.filter_map(|point| point.as_object_mut()?.remove("in_flight")?.as_f64()).sum()
    };
    let (one, other) = (take(alone), take(cluster));
    // A stream that began before the range counts more of its time on one side than on the other.
    ensure!((one - other).abs() <= 0.05 * one.max(other), "in flight: {one} and {other}");
    Ok(())
}

fn has_values(answer: &Value) -> bool {
    match answer {
        Value::Object(fields) => fields.iter().any(|(name, value)| match name.as_str() {
            "n" | "streams" | "abandoned" => value.as_u64() > Some(0),
            _ => has_values(value),
        }),
        Value::Array(values) => values.iter().any(has_values),
        _ => false,
    }
}

pub(super) async fn start_one(folder: &Path, number: usize) -> Result<Collector> {
    start(folder, "cluster", &format!("cluster-{number}")).await
}

pub(super) async fn start(folder: &Path, config: &str, data: &str) -> Result<Collector> {
    let config = folder.join(format!("{config}.toml"));
    let config = config.to_str().context("a temporary folder has a plain name")?;
    Collector::start_with(&folder.join(data), &["--config", config]).await
}

pub(super) async fn post(collector: &Collector, body: &str) -> Result<()> {
    let said = request(&collector.url, body).send().await?.error_for_status()?;
    ensure!(said.status() == 204, "{}", said.status());
    Ok(())
}

/// As a proxy passes it on, from one of three countries or from nowhere.
fn request(url: &str, body: &str) -> reqwest::RequestBuilder {
    let country = ["DE", "FR", "IT", "XX"][body.len() % 4];
    let request = http().post(format!("{url}/v1/beacons?site=demo"));
    request.header("content-type", "text/plain").header("cf-ipcountry", country).body(body.to_owned())
}

/// Moves the windows of each model some days and hours back, and forgets what was summed and published.
fn age(data: &Path) -> Result<()> {
    let store = Connection::open(data.join("llm-rum.sqlite"))?;
    for model in 0..MODELS as i64 {
        let minutes = 1_440 * (1 + 5 * model) + 193 * model;
        store.execute(
            "UPDATE windows SET minute = minute - ?1 WHERE series IN (SELECT id FROM series WHERE model = ?2)",
            (minutes, format!("m{model}")),
        )?;
    }
    store.execute_batch(
        "DELETE FROM sums; DELETE FROM spans; DELETE FROM outbox;
         INSERT INTO outbox (minute, series, mark) SELECT minute, series, 0 FROM windows;",
    )?;
    for length in [5, 60, 1_440] {
        store.execute(
            "INSERT INTO spans (length, start, changes, summed)
             SELECT DISTINCT ?1, minute / ?1 * ?1, 1, 0 FROM windows",
            [length],
        )?;
    }
    Ok(())
}

const COLLECTORS: usize = 3;

/// Dimensions that no window has.
const OF_SINGLE_STREAMS: [&str; 17] = [
    "release",
    "variant",
    "route",
    "browser",
    "browser_version",
    "os",
    "device",
    "connection",
    "protocol",
    "visibility",
    "prompt_size",
    "cached",
    "reasoning",
    "stream_kind",
    "finish_reason",
    "server_source",
    "attribute.plan",
];

//! What `deploy/` holds for others, and what `llm-rum rules` prints, read by those that it is for.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tests::binary;
use tokio::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[tokio::test]
async fn kubernetes_accepts_the_manifests() -> Result<()> {
    let mut command = Command::new(root().join("target/python/bin/kubernetes-validate"));
    command.args(["--kubernetes-version", "1.33", "--strict"]);
    let output = command.arg(root().join("deploy/kubernetes/llm-rum.yaml")).output().await;
    let output = output.context("cannot start kubernetes-validate: `cargo xtask test` installs it")?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && said.matches("passed").count() >= 7, "{said}");
    Ok(())
}

#[tokio::test]
async fn nginx_accepts_the_load_balancer_configuration() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = std::fs::read_to_string(root().join("deploy/cluster/nginx.conf"))?;
    // It looks the collectors' names up, which are those of containers.
    let here = ["collector-1", "collector-2", "collector-3"]
        .into_iter()
        .fold(config, |config, name| config.replace(name, "127.0.0.1"));
    let file = folder.path().join("nginx.conf");
    std::fs::write(&file, here)?;
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-t").arg("-c").arg(&file).arg("-p").arg(folder.path()).args(["-g", "pid nginx.pid;"]);
    let output = command.output().await.context("cannot start nginx: `cargo xtask test` installs it")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[tokio::test]
async fn systemd_accepts_the_unit_with_the_documented_exposure() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let unit = std::fs::read_to_string(root().join("deploy/llm-rum.service"))?;
    let installed = unit.replace("/usr/local/bin/llm-rum", &binary("llm-rum").display().to_string());
    let file = folder.path().join("llm-rum.service");
    std::fs::write(&file, installed)?;
    let verify = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output().await;
    let verified = verify.context("cannot start systemd-analyze: `cargo xtask test` installs it")?;
    // What it does not like in a unit it says, and ends well all the same.
    ensure!(verified.status.success() && verified.stderr.is_empty(), "{verified:?}");
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=true", "--no-pager", "--threshold=12"]).arg(&file);
    let found = said(&mut security).await?;
    let text = std::fs::read_to_string(root().join("docs/operations.md"))?;
    ensure!(text.contains("(`systemd-analyze security llm-rum`: 1.2)"), "the text says another");
    ensure!(found.contains("Overall exposure level for llm-rum.service: 1.2 "), "{found}");
    Ok(())
}

/// In `burning` one answer in ten fails and half are slow, in `steady` one in a thousand of either. `later`
/// burns too, and writes edges as Prometheus 3 does; `own` has stricter targets of its own, for a use case with
/// every character that YAML, PromQL and templates go by, and breaks those.
const SERIES: [(&str, &str, &str, u32, u32, u32); 4] = [
    ("burning", "chat", "2", 900, 100, 500),
    ("steady", "chat", "2", 999, 1, 1),
    ("later", "chat", "2.0", 900, 100, 500),
    ("own", ODD, "0.5", 995, 5, 500),
];

const ODD: &str = r#"the "new" chat: {{ $v2 }} \ #"#;

#[tokio::test]
async fn alerts_fire_only_where_a_budget_burns() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = format!(
        "[[sites]]\nname = 'own'\nkeys = ['k']\norigins = ['loopback']\n\
         targets.'{ODD}' = {{ ttft_p95_ms = 500, availability = 0.9, speed = 0.98 }}\n"
    );
    std::fs::write(folder.path().join("llm-rum.toml"), config)?;
    let rules = said(
        Command::new(binary("llm-rum")).args(["rules", "--config"]).arg(folder.path().join("llm-rum.toml")),
    )
    .await?;
    std::fs::write(folder.path().join("rules.yml"), rules)?;
    let mut test =
        "rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n"
            .to_owned();
    for (site, use_case, edge, whole, failed, slow) in SERIES {
        let use_case = quoted(use_case);
        let labels = format!("site=\"{site}\",use_case={use_case},provider=\"p\",model=\"m\"");
        for (name, a_minute) in [
            (format!("llm_rum_streams_total{{{labels},outcome=\"complete\"}}"), whole),
            (format!("llm_rum_streams_total{{{labels},outcome=\"truncated\"}}"), failed),
            // Those who leave neither meet nor miss an objective.
            (format!("llm_rum_streams_total{{{labels},outcome=\"aborted\"}}"), 9_000),
            (format!("llm_generation_errors_total{{{labels}}}"), failed),
            (
                format!("llm_rum_first_visible_duration_seconds_bucket{{{labels},le=\"{edge}\"}}"),
                1_000 - slow,
            ),
            (format!("llm_rum_first_visible_duration_seconds_count{{{labels}}}"), 1_000),
        ] {
            writeln!(test, "      - {{series: '{name}', values: '0+{a_minute}x180'}}")?;
        }
    }
    test += "    alert_rule_test:\n";
    let burning = [("burning", "chat"), ("later", "chat")];
    for (objective, sites) in
        [("availability", burning.to_vec()), ("speed", [&burning[..], &[("own", ODD)]].concat())]
    {
        let name = if objective == "speed" { "LlmRumSpeedBudget" } else { "LlmRumAvailabilityBudget" };
        writeln!(test, "      - eval_time: 2h\n        alertname: {name}\n        exp_alerts:")?;
        for (site, use_case) in sites {
            test += &burn_rate_alerts(objective, site, use_case)?;
        }
    }
    std::fs::write(folder.path().join("test.yml"), test)?;
    said(Command::new("promtool").arg("check").arg("rules").arg(folder.path().join("rules.yml"))).await?;
    said(Command::new("promtool").arg("test").arg("rules").arg(folder.path().join("test.yml"))).await?;
    for shipped in ["slo.yml", "alerts.yml"] {
        said(Command::new("promtool").args(["check", "rules"]).arg(root().join("deploy").join(shipped)))
            .await?;
    }
    Ok(())
}

/// What promtool expects if all burn-rate alerts of an objective fire.
fn burn_rate_alerts(objective: &str, site: &str, use_case: &str) -> Result<String> {
    let mut expected = String::new();
    for (over, severity, rate) in
        [("1h", "page", "14.4"), ("6h", "page", "6"), ("24h", "incident", "3"), ("72h", "ticket", "1")]
    {
        let summary = format!(
            "`{site}`: {use_case} burns its {objective} budget at over {rate} times the sustainable rate"
        );
        let (use_case, summary) = (quoted(use_case), quoted(&summary));
        writeln!(
            expected,
            "          - exp_labels: {{severity: {severity}, site: {site}, use_case: {use_case}, objective: {objective}, over: {over}}}\n            \
             exp_annotations: {{summary: {summary}}}"
        )?;
    }
    Ok(expected)
}

#[tokio::test]
async fn one_failed_stream_fires_no_rule() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rules = root().join("deploy/slo.yml");
    let mut test = format!(
        "rule_files: ['{}']\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n",
        rules.display()
    );
    // All of them end in minute 11.
    for (site, complete, failed) in [("one", 109, 1), ("five", 105, 5)] {
        let labels = format!("site=\"{site}\",use_case=\"coding\",provider=\"p\",model=\"m\"");
        for (name, count) in [
            (format!("llm_rum_streams_total{{{labels},outcome=\"complete\"}}"), complete),
            (format!("llm_rum_streams_total{{{labels},outcome=\"network_error\"}}"), failed),
            (format!("llm_generation_errors_total{{{labels}}}"), failed),
        ] {
            writeln!(test, "      - {{series: '{name}', values: '0x10 {count}x50'}}")?;
        }
    }
    test += "    alert_rule_test:\n      - eval_time: 13m\n        alertname: LlmRumAvailabilityBudget\n";
    test += "        exp_alerts:\n";
    test += &burn_rate_alerts("availability", "five", "coding")?;
    let file = folder.path().join("test.yml");
    std::fs::write(&file, test)?;
    said(Command::new("promtool").args(["test", "rules"]).arg(file)).await?;
    Ok(())
}

/// Sites of a chat, and how many of 1,000 streams in two minutes are slower than 3, 4 and 10 s.
const SLOW_SITES: [(&str, [(&str, u32); 3]); 3] = [
    ("tail", [("3", 20), ("4", 20), ("10", 20)]),
    ("slow", [("3", 100), ("4", 100), ("10", 0)]),
    ("slower", [("3", 100), ("4", 0), ("10", 0)]),
];

#[tokio::test]
async fn slow_waits_are_p1_and_p2_at_once_and_p3_after_a_day() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rules = root().join("deploy/slo.yml");
    let mut test = format!(
        "rule_files: ['{}']\nevaluation_interval: 5m\ntests:\n  - interval: 2m\n    input_series:\n",
        rules.display()
    );
    for (site, slower) in SLOW_SITES {
        let name = "llm_rum_first_visible_duration_seconds";
        let labels = format!("site=\"{site}\",use_case=\"chat\"");
        writeln!(test, "      - {{series: '{name}_count{{{labels}}}', values: '0+1000x750'}}")?;
        for (edge, count) in slower {
            let series = format!("{name}_bucket{{{labels},le=\"{edge}\"}}");
            writeln!(test, "      - {{series: '{series}', values: '0+{}x750'}}", 1_000 - count)?;
        }
    }
    let p1 = ("tail", "P1", "ttft_p99", "p99 of chat is above 10 s, 2 times its target");
    let p2 = ("slow", "P2", "ttft_p95", "p95 of chat is above 4 s, 2 times its target");
    let p3 = |site| (site, "P3", "ttft_p95", "p95 of chat is above 3 s, 1.5 times its target");
    test += "    alert_rule_test:\n";
    for (time, alerts) in
        [("10m", vec![p1, p2]), ("23h55m", vec![p1, p2]), ("24h10m", vec![p1, p2, p3("slow"), p3("slower")])]
    {
        writeln!(test, "      - eval_time: {time}\n        alertname: LlmRumSlow\n        exp_alerts:")?;
        for (site, severity, rule, summary) in alerts {
            writeln!(
                test,
                "          - exp_labels: {{severity: {severity}, site: {site}, use_case: chat, rule: {rule}}}\n            \
                 exp_annotations: {{summary: '`{site}`: {summary}'}}"
            )?;
        }
    }
    let file = folder.path().join("test.yml");
    std::fs::write(&file, test)?;
    said(Command::new("promtool").args(["test", "rules"]).arg(file)).await?;
    Ok(())
}

/// A series by its name and labels, and its values as promtool reads them.
type Series = (&'static str, &'static str);

/// What makes each alert on the collector sound, and after how many minutes.
const LOUD: [(&str, u32, &[Series]); 11] = [
    ("LlmRumDown", 5, &[("up{job='llm-rum'}", "0x10")]),
    ("LlmRumStoreNotWritable", 5, &[("llm_rum_store_writable", "0x10")]),
    ("LlmRumRefusesWork", 20, &[("llm_rum_beacons_total{result='overloaded'}", "0+1x30")]),
    (
        "LlmRumManyRefused",
        80,
        &[
            ("llm_rum_beacons_total{result='accepted'}", "0+90x100"),
            ("llm_rum_beacons_total{result='foreign_origin'}", "0+10x100"),
        ],
    ),
    ("LlmRumReplicationLag", 15, &[("llm_rum_replication_lag_seconds", "200x20")]),
    ("LlmRumSilent", 1_500, &[("llm_requests_total{site='shop'}", "0+10x60 600x1500")]),
    (
        "LlmRumLabelLimitExceeded",
        10,
        &[("llm_rum_label_limit_exceeded_total{site='shop',label='model'}", "0+1x20")],
    ),
    ("LlmRumProbesDrop", 15, &[("llm_rum_probe_dropped_total{reason='send_failed'}", "0+50x20")]),
    ("LlmRumCountryFile", 10, &[("llm_rum_country_files_total{result='broken'}", "0x5 1x10")]),
    ("LlmRumJournalDamaged", 10, &[("llm_rum_journal_repairs_total{kind='damaged'}", "0x5 1x10")]),
    ("LlmRumMetricsCut", 10, &[("llm_rum_metrics_cut{reason='bytes'}", "1x20")]),
];

/// A collector that samples, leaves out bots and has had its troubles, all of which are over.
const QUIET: [Series; 16] = [
    ("up{job='llm-rum'}", "1x200"),
    ("llm_rum_store_writable", "1x200"),
    ("llm_rum_beacons_total{result='accepted'}", "0+9x200"),
    ("llm_rum_beacons_total{result='preflight'}", "0+9x200"),
    ("llm_rum_beacons_total{result='sampled_out'}", "0+90x200"),
    ("llm_rum_beacons_total{result='filtered_bot'}", "0+20x200"),
    ("llm_rum_beacons_total{result='foreign_origin'}", "40+0.1x200"),
    ("llm_rum_beacons_total{result='overloaded'}", "70x200"),
    ("llm_rum_replication_lag_seconds", "6x200"),
    ("llm_requests_total{site='shop'}", "0+10x200"),
    ("llm_rum_label_limit_exceeded_total{site='shop',label='model'}", "5x200"),
    ("llm_rum_probe_dropped_total{reason='send_failed'}", "900+0.5x200"),
    ("llm_rum_country_files_total{result='read'}", "0x5 1x195"),
    ("llm_rum_country_files_total{result='broken'}", "1x200"),
    ("llm_rum_journal_repairs_total{kind='torn_end'}", "0x5 1x195"),
    ("llm_rum_metrics_cut{reason='time'}", "0x50 1x2 0x150"),
];

#[tokio::test]
async fn each_collector_alert_fires_alone_and_none_fires_in_health() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let alerts = root().join("deploy/alerts.yml");
    let told = std::fs::read_to_string(&alerts)?.matches("- alert: ").count();
    ensure!(told == LOUD.len(), "{told} alerts, and {} are tried", LOUD.len());
    let mut test = format!("rule_files: ['{}']\nevaluation_interval: 1m\ntests:\n", alerts.display());
    let cases = LOUD.iter().map(|(name, minutes, series)| (Some(*name), *minutes, *series));
    for (name, minutes, series) in cases.chain([(None, 180, &QUIET[..])]) {
        test += "  - interval: 1m\n    input_series:\n";
        for (series, values) in series {
            writeln!(test, "      - {{series: \"{series}\", values: \"{values}\"}}")?;
        }
        let sounding = "count by (alertname) (ALERTS{alertstate='firing'})";
        let samples = name.map(|name| format!("{{labels: \"{{alertname='{name}'}}\", value: 1}}"));
        writeln!(
            test,
            "    promql_expr_test:\n      - {{expr: \"{sounding}\", eval_time: {minutes}m, exp_samples: [{}]}}",
            samples.unwrap_or_default()
        )?;
    }
    let file = folder.path().join("test.yml");
    std::fs::write(&file, test)?;
    said(Command::new("promtool").args(["test", "rules"]).arg(file)).await?;
    Ok(())
}

/// As YAML and PromQL read it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What a program prints, once it has ended well.
async fn said(command: &mut Command) -> Result<String> {
    let output =
        command.output().await.context("cannot start it: `cargo xtask test` installs what it needs")?;
    let said = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(said)
}

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
async fn kubernetes_takes_the_manifests() -> Result<()> {
    let mut command = Command::new(root().join("target/python/bin/kubernetes-validate"));
    command.args(["--kubernetes-version", "1.33", "--strict"]);
    let output = command.arg(root().join("deploy/kubernetes/llm-rum.yaml")).output().await;
    let output = output.context("cannot start kubernetes-validate: `cargo xtask test` installs it")?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && said.matches("passed").count() >= 7, "{said}");
    Ok(())
}

#[tokio::test]
async fn nginx_takes_the_balancer() -> Result<()> {
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
async fn alerts_sound_where_a_budget_burns_and_nowhere_else() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = format!(
        "admin_token = '0123456789abcdef'\n[[sites]]\nname = 'own'\nkeys = ['k']\norigins = ['loopback']\n\
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
            // Those who leave neither keep nor break a promise.
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
    for (promise, sites) in
        [("availability", burning.to_vec()), ("speed", [&burning[..], &[("own", ODD)]].concat())]
    {
        let name = if promise == "speed" { "LlmRumSpeedBudget" } else { "LlmRumAvailabilityBudget" };
        writeln!(test, "      - eval_time: 2h\n        alertname: {name}\n        exp_alerts:")?;
        for (site, use_case) in sites {
            for (over, severity, rate) in [
                ("1h", "page", "14.4"),
                ("6h", "page", "6"),
                ("24h", "incident", "3"),
                ("72h", "ticket", "1"),
            ] {
                let summary =
                    format!("`{site}`: {use_case} uses up its {promise} budget {rate} times too fast");
                let (use_case, summary) = (quoted(use_case), quoted(&summary));
                writeln!(
                    test,
                    "          - exp_labels: {{severity: {severity}, site: {site}, use_case: {use_case}, promise: {promise}, over: {over}}}\n            \
                     exp_annotations: {{summary: {summary}}}"
                )?;
            }
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

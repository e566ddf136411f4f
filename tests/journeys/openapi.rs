//! The collector against its own description: a schema fuzzer reads `/openapi.json` and asks whatever that
//! allows and forbids.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use beacon::Batch;
use tests::{Collector, eventually, report};
use tokio::process::Command;

/// An address with thousands of values violates the schema, but HTTP refuses it before the schema is asked: 431.
const FUZZER_CONFIG: &str = "\
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 415, 422, 428, 429, 431, '5xx']
";

#[tokio::test(flavor = "multi_thread")]
async fn every_response_matches_its_openapi_schema() -> Result<()> {
    let data = tempfile::tempdir()?;
    let collector = Collector::start(data.path()).await?;
    let reports = (0..40).map(report).collect();
    let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
    ensure!(status == 204, "{status} {body}");
    eventually("40 streams", || async {
        (collector.get("/v1/summary").await.ok()?["streams"] == 40).then_some(())
    })
    .await?;

    std::fs::write(data.path().join("schemathesis.toml"), FUZZER_CONFIG)?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python/bin/schemathesis");
    let mut command = Command::new(program);
    command.arg("run").arg(format!("{}/openapi.json", collector.url));
    // No schema can say that `from` needs `to`: a question that fits the schema may still be refused.
    command.args(["--exclude-checks", "positive_data_acceptance"]);
    command.args(["--max-examples", "50", "--seed", "20261121", "--no-color"]);
    // It reads its configuration from the folder that it runs in, and keeps notes of what it found there.
    let output = command.current_dir(data.path()).output();
    let output = output.await.context("cannot start schemathesis: `cargo xtask test` installs it")?;
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    ensure!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

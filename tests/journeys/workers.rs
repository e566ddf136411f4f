//! The probe in dedicated and shared workers: what they read is told, also of one that closes itself. And a page behind a
//! service worker.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use beacon::{Outcome, StreamReport};
use tests::{AppPage, Engine, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn streams_read_by_workers_are_reported_in_every_engine() -> Result<()> {
    in_every_engine(read_in_workers).await
}

async fn read_in_workers(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    // As far away as collectors are: what is cut off when a worker ends does not arrive there.
    let far = far_away(&stage.collector.url).await?;
    stage.open("").await?;
    stage.browser.run(READ_IN_WORKERS, vec![far.into()]).await?;
    let reports = eventually("a report of each worker", || async {
        let reports = stage.collector.streams().await.ok()?;
        (reports.len() == 3 && reports.iter().all(|report| !report.open)).then_some(reports)
    })
    .await?;
    for (use_case, outcome) in
        [("dedicated", Outcome::Complete), ("shared", Outcome::Complete), ("closing", Outcome::Abandoned)]
    {
        let is_its = |report: &&StreamReport| report.use_case.as_deref() == Some(use_case);
        let report = reports.iter().find(is_its).with_context(|| format!("{use_case} in {reports:#?}"))?;
        ensure!(report.outcome == outcome && report.ttft_ms.is_some(), "{report:#?}");
        let page = report.page.as_ref().context("where it was")?;
        ensure!(page.browser.is_some() && page.visibility.is_none(), "{page:?}");
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn times_behind_a_service_worker_are_the_users() -> Result<()> {
    in_every_engine(behind_a_service_worker).await
}

async fn behind_a_service_worker(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    let collector = &stage.collector.url;
    let head = format!(
        "<script src=\"{collector}/llm-rum.js\" data-site=\"demo\"></script>\
         <script src=\"{collector}/llm-rum-more.js\" data-with=\"networkTiming\"></script>"
    );
    let page = AppPage::serve(&head, "").await?;
    stage.browser.page.goto(&page.url).await?;
    stage.keep_reports().await?;
    stage.browser.run(GO_BEHIND_WORKER, vec![]).await?;
    for (at, address) in ["/paced/4/1/api/chat", "/paced/4/1/api/chat?built"].into_iter().enumerate() {
        stage.browser.run(READ, vec![address.into()]).await?;
        let ids = stage.ended_ids(at + 1).await?;
        let report = stage.collector.final_report(&ids[at]).await?;
        let wait_ms = report.network_timing.as_ref().and_then(|timing| timing.wait_ms);
        let has = (report.headers_ms.is_some(), wait_ms.is_some());
        let expected = match engine {
            Engine::Chromium => (true, true),
            Engine::Firefox => (false, false),
            Engine::WebKit => (true, false),
        };
        ensure!(report.outcome == Outcome::Complete && has == expected, "{address}: {report:#?}");
        let times = [report.headers_ms, wait_ms];
        ensure!(times.into_iter().flatten().all(|ms| ms >= WORKER_MS), "{address}: {report:#?}");
    }
    stage.browser.close().await
}

/// So long the service worker keeps the headers, less what a clock of whole milliseconds takes.
const WORKER_MS: f64 = 298.0;

const GO_BEHIND_WORKER: &str = "
    await navigator.serviceWorker.register('/worker.js');
    while (!navigator.serviceWorker.controller) await new Promise(resolve => setTimeout(resolve, 10));";

const READ: &str = "
    const response = await fetch(args[0], { method: 'POST', body: '{\"stream\":true}' });
    const reader = response.body.getReader();
    while (!(await reader.read()).done);";

/// The address of a way to `url` on which what is sent takes a while, and is lost when its sender hangs up.
async fn far_away(url: &str) -> Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let collector = url.strip_prefix("http://").context("no address")?.to_owned();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            tokio::spawn(carry(near, collector.clone()));
        }
    });
    Ok(format!("http://{address}"))
}

async fn carry(mut near: TcpStream, collector: String) -> io::Result<()> {
    let mut far = TcpStream::connect(collector).await?;
    let (mut sent, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            count = near.read(&mut sent) => {
                let count = count?;
                tokio::select! {
                    Ok(0) = near.peek(&mut answered) => return Ok(()),
                    () = sleep(ON_ITS_WAY), if count > 0 => far.write_all(&sent[..count]).await?,
                }
            }
            count = far.read(&mut answered) => match count? {
                0 => return Ok(()),
                count => near.write_all(&answered[..count]).await?,
            },
        }
    }
}

const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// Two workers read to the end; one closes itself in the middle, once the probe has reported the first token:
/// before that, its Wasm may not be there yet, and unparsed bytes have no token.
const READ_IN_WORKERS: &str = "
    const source = useCase => URL.createObjectURL(new Blob([`
        import { start } from '${args[0]}/llm-rum-worker.mjs';
        const probe = start({ collector: '${args[0]}', site: 'demo', useCase: '${useCase}' });
        let tokens = 0;
        probe.onFirstToken(() => tokens++);
        self.onmessage = self.onconnect = async ({ ports: [port = self] }) => {
            const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
            const headers = { 'content-type': 'application/json' };
            const scenario = '${useCase}' == 'closing' ? 'user_stops' : 'normal;gap=30';
            const address = '${location.origin}/llm/' + scenario + '/v1/chat/completions';
            const reader = (await fetch(address, { method: 'POST', headers, body })).body.getReader();
            while (!(await reader.read()).done)
                if (tokens && '${useCase}' == 'closing') {
                    port.postMessage('closing');
                    return self.close();
                }
            await probe.flush();
            port.postMessage('read');
        };`], { type: 'text/javascript' }));
    const type = 'module';
    const said = target => new Promise((resolve, reject) => {
        target.onmessage = ({ data }) => resolve(data);
        target.onerror = ({ message }) => reject(new Error(message));
    });
    for (const useCase of ['dedicated', 'closing']) {
        const worker = new Worker(source(useCase), { type });
        worker.postMessage('go');
        await said(worker);
    }
    await said(new SharedWorker(source('shared'), { type }).port);";

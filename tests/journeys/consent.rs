//! What users and apps decide about reports: consent, signals, samples, and what goes out at all.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::{AppPage, Engine, eventually};

use crate::{Stage, in_every_engine};

#[tokio::test(flavor = "multi_thread")]
async fn the_probe_respects_decisions_of_users_and_apps() -> Result<()> {
    in_every_engine(decide).await
}

async fn decide(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    consent(&stage).await?;
    refusal(&stage).await?;
    signals(&stage).await?;
    samples(&stage).await?;
    sessions(&stage).await?;
    editing(&stage).await?;
    stage.browser.close().await
}

/// Held while the user has not been asked, and sent once there is consent.
async fn consent(stage: &Stage) -> Result<()> {
    for unasked in ["pending", "yes"] {
        let head = format!("{COUNT_BEACONS}{}", tag(stage, &format!("data-consent={unasked}")));
        let _page = open(stage, &head).await?;
        let id = read(stage).await?;
        let sent = stage.browser.run("await llmRum.probe.flush(); return window.beacons", vec![]).await?;
        ensure!(sent == 0, "{unasked}: nothing is sent before consent, and {sent} beacons were");
        stage.browser.run("llmRum.probe.setConsent('granted')", vec![]).await?;
        stage.collector.final_report(&id).await?;
        let sent = stage.browser.run("return window.beacons", vec![]).await?;
        ensure!(sent == 1, "{unasked}: {sent} beacons");
    }
    Ok(())
}

/// What waited is dropped, and nothing is watched any more until the app starts again: whatever the word for
/// it is.
async fn refusal(stage: &Stage) -> Result<()> {
    for answer in ["'denied'", "true"] {
        let _page = open(stage, &tag(stage, "data-consent=pending")).await?;
        let waited = read(stage).await?;
        stage.browser.run(&format!("llmRum.probe.setConsent({answer})"), vec![]).await?;
        idle(stage).await?;
        granted_later(stage).await?;
        let kept = stage.collector.get(&format!("/v1/streams/{waited}")).await;
        ensure!(kept.is_err(), "{answer}: a stream without consent was sent: {kept:?}");
    }
    let _page = open(stage, &tag(stage, "data-consent=denied")).await?;
    stage.browser.run("llmRum.probe.setConsent('granted')", vec![]).await?;
    idle(stage).await?;
    stage.browser.run("llmRum.probe.stop()", vec![]).await?;
    granted_later(stage).await?;
    for (answer, watched) in [("granted", true), ("denied", false)] {
        let tags = tag(stage, &format!("data-consent={answer}"));
        let more =
            format!("<script src=\"{}/llm-rum-more.js\" data-with=\"xhr\"></script>", stage.collector.url);
        let _page = open_unwatched(stage, &format!("{tags}{more}")).await?;
        // The source text of what is watched has no name.
        let script = "return !String(XMLHttpRequest.prototype.open).includes('open')";
        let seen = stage.browser.run(script, vec![]).await?;
        ensure!(seen == watched, "{answer}: requests are watched: {seen}");
    }
    Ok(())
}

/// The user thinks better of it, and the app starts again.
async fn granted_later(stage: &Stage) -> Result<()> {
    stage.browser.run(START_AGAIN, vec![stage.collector.url.clone().into()]).await?;
    stage.keep_reports().await?;
    let id = read(stage).await?;
    stage.collector.final_report(&id).await?;
    Ok(())
}

/// A browser that asks not to be tracked is left alone, unless the app asks by itself.
async fn signals(stage: &Stage) -> Result<()> {
    let before = received(stage).await?;
    for signal in ["globalPrivacyControl', { value: true }", "doNotTrack', { value: '1' }"] {
        let signal = format!("<script>Object.defineProperty(navigator, '{signal})</script>");
        let _page = open(stage, &format!("{signal}{}", tag(stage, ""))).await?;
        idle(stage).await?;
        let asked = tag(stage, "data-respect-signals=false");
        let _page = open(stage, &format!("{signal}{asked}")).await?;
        let id = read(stage).await?;
        stage.collector.final_report(&id).await?;
    }
    // The counters are about a second behind.
    eventually("beacons of the two that were asked", || async {
        (received(stage).await.ok()? >= before + 2).then_some(())
    })
    .await
}

/// Out of the sample nothing is watched; in it, reports say how large it is.
async fn samples(stage: &Stage) -> Result<()> {
    let _page = open(stage, &tag(stage, "data-sample-rate=0")).await?;
    idle(stage).await?;
    let _page = open(stage, &tag(stage, "data-sample-rate=1")).await?;
    let id = read(stage).await?;
    let report = stage.collector.final_report(&id).await?;
    ensure!(report.sample_rate == Some(1.0), "{report:#?}");
    Ok(())
}

/// A tab draws its lot once: a page that is loaded anew is in the sample as the one before, at a lower rate
/// perhaps not, and another tab draws its own. Nothing is stored that was not drawn, or before consent.
async fn sessions(stage: &Stage) -> Result<()> {
    let app = AppPage::serve(&tag(stage, "").replace(" data-site=\"demo\"", ""), "").await?;
    let page = &stage.browser.page;
    page.goto(&app.url).await?;
    draw(stage, 0.5, json!({}), json!([true, null])).await?;
    draw(stage, 0.5, json!({ "sampleRate": 0.4, "consent": "pending" }), json!([false, null])).await?;
    draw(stage, 0.5, json!({ "sampleRate": 0.7 }), json!([true, "0.5"])).await?;
    draw(stage, 0.9, json!({ "sampleRate": 0.7, "consent": "granted" }), json!([true, "0.5"])).await?;
    draw(stage, 0.1, json!({ "sampleRate": 0.4 }), json!([false, "0.5"])).await?;
    // An attribute of the script's tag is a text, however its number is written.
    draw(stage, 0.9, json!({ "sampleRate": ".7" }), json!([true, "0.5"])).await?;
    draw(stage, 0.1, json!({ "sampleRate": " 4e-1" }), json!([false, "0.5"])).await?;
    for unsaid in [json!(null), json!("")] {
        draw(stage, 0.9, json!({ "sampleRate": unsaid }), json!([true, "0.5"])).await?;
    }

    let first = page.window().await?;
    page.switch_to_window(page.new_window(true).await?.handle).await?;
    page.goto(&app.url).await?;
    draw(stage, 0.9, json!({ "sampleRate": 0.7 }), json!([false, "0.9"])).await?;
    page.close_window().await?;
    page.switch_to_window(first).await?;

    let closed = "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('closed'); } });";
    draw_by(stage, &format!("{closed}{DRAW}"), 0.6, json!({ "sampleRate": 0.7 }), json!([true, null])).await
}

async fn draw(stage: &Stage, lot: f64, options: Value, expected: Value) -> Result<()> {
    draw_by(stage, DRAW, lot, options, expected).await
}

/// Loads the page anew and starts where the lot would be `lot`: `expected` is whether the page was watched,
/// and what its tab keeps.
async fn draw_by(stage: &Stage, script: &str, lot: f64, options: Value, expected: Value) -> Result<()> {
    let arguments = vec![stage.collector.url.as_str().into(), lot.into(), options.clone()];
    stage.browser.page.refresh().await?;
    let drawn = stage.browser.run(script, arguments).await?;
    ensure!(drawn == expected, "{lot} {options}: {drawn}");
    Ok(())
}

/// `beforeSend` changes what goes out and keeps it back; `lastReport()` shows what went.
async fn editing(stage: &Stage) -> Result<()> {
    let loaded = tag(stage, "").replace(" data-site=\"demo\"", "");
    let _page = open_unwatched(stage, &loaded).await?;
    stage.browser.run(START_EDITED, vec![stage.collector.url.clone().into()]).await?;
    stage.keep_reports().await?;
    let changed = read(stage).await?;
    let report = stage.collector.final_report(&changed).await?;
    ensure!(report.use_case.as_deref() == Some("edited") && report.page.is_none(), "{report:#?}");
    let shown = stage.browser.run("return llmRum.probe.lastReport()", vec![]).await?;
    ensure!(
        shown["id"] == *changed && shown["use_case"] == "edited" && shown.get("page").is_none(),
        "{shown}"
    );

    for way in ["back", "fail", "later"] {
        stage.browser.run("window.way = args[0]", vec![way.into()]).await?;
        let kept = read(stage).await?;
        // The app is asked when a report is about to go.
        stage.browser.run("await llmRum.probe.flush(); window.way = ''", vec![]).await?;
        let sent = read(stage).await?;
        stage.collector.final_report(&sent).await?;
        let answer = stage.collector.get(&format!("/v1/streams/{kept}")).await;
        ensure!(answer.is_err(), "{way}: what was kept back was sent: {answer:?}");
    }
    let faults = stage.browser.run("return llmRum.probe.faults", vec![]).await?;
    ensure!(faults == 0, "a fault of the app's own function is its own: {faults}");
    Ok(())
}

/// The probe is there, watches nothing, and has given the page its own fetch back.
async fn idle(stage: &Stage) -> Result<()> {
    let seen = stage.browser.run(IDLE, vec![completions(stage)]).await?;
    ensure!(seen == json!({ "told": 0, "own": true, "tap": false }), "{seen}");
    Ok(())
}

async fn open(stage: &Stage, head: &str) -> Result<AppPage> {
    let page = open_unwatched(stage, head).await?;
    stage.keep_reports().await?;
    Ok(page)
}

async fn open_unwatched(stage: &Stage, head: &str) -> Result<AppPage> {
    let page = AppPage::serve(head, "").await?;
    stage.browser.page.goto(&page.url).await?;
    Ok(page)
}

/// Reads one stream; gives back the id of its report.
async fn read(stage: &Stage) -> Result<String> {
    let id = stage.browser.run(READ, vec![completions(stage)]).await?;
    Ok(serde_json::from_value(id)?)
}

fn tag(stage: &Stage, more: &str) -> String {
    let collector = &stage.collector.url;
    // The stub stands before it, as it has to go as well.
    format!(
        "<script src=\"{collector}/stub.js\"></script>\
         <script src=\"{collector}/llm-rum.js\" data-site=\"demo\" {more}></script>"
    )
}

fn completions(stage: &Stage) -> Value {
    format!("{}/llm/normal/v1/chat/completions", stage.demo.url).into()
}

async fn received(stage: &Stage) -> Result<u64> {
    let books = stage.collector.get("/v1/accounting").await?;
    Ok(books["beacons"]["received"].as_u64().unwrap_or_default())
}

/// Before the stub, so that the probe sends by it.
const COUNT_BEACONS: &str = "<script>
    window.beacons = 0;
    const native = window.fetch;
    window.fetch = function (url) {
        if (String(url).includes('/v1/beacons')) window.beacons++;
        return native.apply(this, arguments);
    };
</script>";

const READ: &str = "
    const before = window.ended.length;
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch(args[0], { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    for (const reader = response.body.getReader(); !(await reader.read()).done; );
    while (window.ended.length === before) await new Promise(resolve => setTimeout(resolve, 5));
    return window.ended[before];";

const IDLE: &str = "
    const before = window.ended.length;
    const body = JSON.stringify({ model: 'demo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch(args[0], { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const own = !Object.hasOwn(response, 'clone');
    await response.text();
    await llmRum.probe.flush();
    return { told: window.ended.length - before, own, tap: window.__llmRum !== undefined };";

const DRAW: &str = "
    window.Math.random = () => args[1];
    const probe = llmRum.start({ collector: args[0], site: 'demo', ...args[2] });
    const watched = window.__llmRum !== undefined;
    probe.stop();
    let kept = null;
    try { kept = Object.entries(sessionStorage).map(String).join().replace('llmRum,', '') || null } catch {}
    return [watched, kept];";

const START_AGAIN: &str = "llmRum.start({ collector: args[0], site: 'demo', consent: 'granted' });";

const START_EDITED: &str = "
    window.way = '';
    const beforeSend = report => {
        if (window.way === 'back') return null;
        if (window.way === 'later') return Promise.resolve(report);
        if (window.way === 'fail') throw new Error('of the app');
        delete report.page;
        return { ...report, use_case: 'edited' };
    };
    llmRum.start({ collector: args[0], site: 'demo', beforeSend });";

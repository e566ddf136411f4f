use beacon::{Outcome, PageLifecycle, ServerTiming, StreamReport};

use super::*;
use crate::aggregate::judgement::Judgement;
use crate::config::severity::Severity;
use crate::slo::alert::{Alert, GroupState};
use crate::slo::error_budget::Objective;
use crate::slo::words::{percent_beside, seconds, seconds_beside};

/// Outcome, wait in milliseconds and number of streams.
type Streams = [(Outcome, f64, usize)];

fn stats(use_case: &str, streams: &Streams) -> WindowStats {
    let targets = Targets::of(use_case);
    let mut stats = WindowStats::default();
    for &(outcome, wait_ms, count) in streams {
        let report = StreamReport {
            outcome,
            ttfv_ms: Some(wait_ms).filter(|_| outcome != HttpError),
            e2e_ms: Some(wait_ms * 10.0),
            ..StreamReport::new("0")
        };
        for _ in 0..count {
            stats.add(&report, Judgement::of(&report, &targets));
        }
    }
    stats
}

fn case<'a>(site: &'a str, use_case: &'a str, stats: &'a WindowStats) -> Case<'a> {
    Case { site, use_case, stats, targets: Targets::of(use_case), state: None }
}

fn verdict(open: u64, cases: &[Case<'_>]) -> Verdict {
    of(open, cases, &judge_all(cases)).0
}

#[track_caller]
fn check(use_case: &str, streams: &Streams, level: Level, text: &str) {
    check_all(&[(use_case, streams)], level, text);
}

#[track_caller]
fn check_all(cases: &[(&str, &Streams)], level: Level, text: &str) {
    let all_stats: Vec<_> = cases.iter().map(|(use_case, streams)| stats(use_case, streams)).collect();
    let cases: Vec<_> =
        cases.iter().zip(&all_stats).map(|((use_case, _), stats)| case("demo", use_case, stats)).collect();
    let verdict = verdict(0, &cases);
    assert_eq!((verdict.level, verdict.text.as_str()), (level, text));
}

use Outcome::{Aborted, Complete, HttpError, Truncated};

#[test]
fn a_period_without_eligible_streams_has_no_verdict() {
    check("chat", &[], Level::None, "No streams in this period.");
    let running = verdict(3, &[]);
    assert_eq!(running.text, "No stream ended in this period; 3 are in flight.");
    check(
        "chat",
        &[(Aborted, 100.0, 50)],
        Level::None,
        "No stream is eligible for a verdict: users ended the streams, or the probe could not see their \
         content.",
    );
}

#[test]
fn a_target_met_only_because_users_leave_is_a_warning() {
    let mut waited = stats("chat", &[(Complete, 800.0, 961), (Complete, 3_000.0, 9)]);
    let with_leavers = |stats: &mut WindowStats, count, close_ms| {
        let close_ms = Some(close_ms);
        let report = StreamReport { outcome: Aborted, close_ms, ..StreamReport::new("0") };
        (0..count).for_each(|_| stats.add(&report, Judgement::default()));
    };
    let told = |stats: &WindowStats| {
        let verdict = verdict(0, &[case("demo", "chat", stats)]);
        (verdict.level, verdict.text)
    };
    let kept =
        "Time to first visible token is 798 ms (p50) and 798 ms (p95), within the 2.0 s p95 target for chat";
    assert_eq!(told(&waited), (Level::Good, format!("{kept}, and none of 970 streams failed.")));
    with_leavers(&mut waited, 60, 100.0);
    assert_eq!(told(&waited).0, Level::Good, "who leaves at once says nothing of waits");
    with_leavers(&mut waited, 60, 1_500.0);
    let hidden = "but 3.0 s (p95) if the 120 streams that ended before it are included";
    assert_eq!(told(&waited), (Level::Warn, format!("{kept}, {hidden}, and none of 970 streams failed.")));
    with_leavers(&mut waited, 60, 4_000.0);
    let hidden = "but 180 streams ended before it, too many to be sure";
    assert_eq!(told(&waited), (Level::Warn, format!("{kept}, {hidden}, and none of 970 streams failed.")));
}

#[test]
fn a_healthy_service() {
    check(
        "chat",
        &[(Complete, 800.0, 1800), (Complete, 1_500.0, 197), (Truncated, 900.0, 3)],
        Level::Good,
        "Time to first visible token is 798 ms (p50) and 1.5 s (p95), within the 2.0 s p95 target for \
         chat, and 3 of 2,000 streams failed (0.1 %).",
    );
    check(
        "chat",
        &[(Complete, 80.0, 40)],
        Level::Good,
        "Time to first visible token is 80 ms (p50) and 80 ms (p95), within the 2.0 s p95 target for \
         chat, and none of 40 streams failed.",
    );
}

#[test]
fn a_slow_service() {
    check(
        "chat",
        &[(Complete, 900.0, 90), (Complete, 3_100.0, 10)],
        Level::Bad,
        "Time to first visible token is 909 ms (p50) and 3.1 s (p95), above the 2.0 s p95 target for \
         chat, and none of 100 streams failed. Cause not visible: no server timing.",
    );
    check(
        "chat",
        &[(Complete, 1_400.0, 100)],
        Level::Bad,
        "Time to first visible token is 1.4 s (p50) and 1.4 s (p95), above the 1.0 s p50 target for chat, \
         and none of 100 streams failed.",
    );
    check(
        "chat",
        &[(Complete, 500.0, 980), (Complete, 7_000.0, 20)],
        Level::Warn,
        "Time to first visible token is 496 ms (p50) and 496 ms (p95), but 7.0 s (p99), above the 5.0 s \
         p99 target for chat, and none of 1,000 streams failed. Cause not visible: no server timing.",
    );
}

#[test]
fn just_over_the_target_does_not_read_as_the_target() {
    check(
        "chat",
        &[(Complete, 500.0, 50), (Complete, 2_040.0, 50)],
        Level::Bad,
        "Time to first visible token is 496 ms (p50) and 2.03 s (p95), above the 2.0 s p95 target for \
         chat, and none of 100 streams failed. Cause not visible: no server timing.",
    );
    check(
        "chat",
        &[(Complete, 1_030.0, 100)],
        Level::Bad,
        "Time to first visible token is 1.04 s (p50) and 1.04 s (p95), above the 1.0 s p50 target for \
         chat, and none of 100 streams failed.",
    );
}

#[test]
fn a_failing_service() {
    check(
        "chat",
        &[(Complete, 800.0, 1863), (HttpError, 0.0, 37)],
        Level::Bad,
        "37 of 1,900 streams failed (1.9 %), above the 0.5 % that chat allows; time to first visible \
         token is 798 ms (p50) and 798 ms (p95), within the 2.0 s p95 target. Most frequent failure: HTTP error (37 of \
         37 failures).",
    );
    check(
        "chat",
        &[(HttpError, 0.0, 40)],
        Level::Bad,
        "40 of 40 streams failed (100.0 %), above the 0.5 % that chat allows; no stream showed a visible \
         token. Most frequent failure: HTTP error (40 of 40 failures).",
    );
    check(
        "chat",
        &[(Complete, 3_100.0, 90), (Truncated, 3_100.0, 10)],
        Level::Bad,
        "10 of 100 streams failed (10.0 %), above the 0.5 % that chat allows, and time to first visible \
         token is 3.1 s (p50) and 3.1 s (p95), above the 2.0 s p95 target. Most frequent failure: truncated (10 of 10 failures).",
    );
}

#[test]
fn a_verdict_over_few_streams_says_so() {
    check(
        "chat",
        &[(Complete, 3_100.0, 12)],
        Level::Warn,
        "Low traffic (12 streams). Time to first visible token is 3.1 s (p50) and 3.1 s (p95), above the \
         2.0 s p95 target for chat, and none of 12 streams failed. Cause not visible: no server timing.",
    );
    check(
        "chat",
        &[(Complete, 500.0, 1)],
        Level::Good,
        "Low traffic (1 stream). Time to first visible token is 496 ms (p50) and 496 ms (p95), within the \
         2.0 s p95 target for chat, and the stream did not fail.",
    );
}

#[test]
fn too_few_failures_for_proof_are_a_warning() {
    check(
        "coding",
        &[(Complete, 800.0, 247), (HttpError, 0.0, 1)],
        Level::Warn,
        "1 of 248 streams failed (0.4 %), above the 0.1 % that coding allows, not statistically \
         significant; time to first visible token is 798 ms (p50) and 798 ms (p95), within the 5.0 s p95 \
         target.",
    );
    check(
        "coding",
        &[(Complete, 800.0, 245), (HttpError, 0.0, 3)],
        Level::Bad,
        "3 of 248 streams failed (1.2 %), above the 0.1 % that coding allows; time to first visible token \
         is 798 ms (p50) and 798 ms (p95), within the 5.0 s p95 target. Most frequent failure: HTTP error (3 of 3 \
         failures).",
    );
    check(
        "coding",
        &[(Complete, 6_000.0, 247), (HttpError, 0.0, 1)],
        Level::Bad,
        "1 of 248 streams failed (0.4 %), above the 0.1 % that coding allows, not statistically \
         significant, and time to first visible token is 6.0 s (p50) and 6.0 s (p95), above the 5.0 s p95 \
         target. Cause not visible: no server timing.",
    );
}

#[test]
fn a_single_failure_is_a_warning() {
    check(
        "coding",
        &[(Complete, 800.0, 80), (HttpError, 0.0, 1)],
        Level::Warn,
        "1 of 81 streams failed (1.2 %), above the 0.1 % that coding allows, not statistically \
         significant; time to first visible token is 798 ms (p50) and 798 ms (p95), within the 5.0 s p95 \
         target.",
    );
}

#[test]
fn the_verdict_names_the_worst_use_case() {
    let well = &[(Complete, 800.0, 1_000), (Truncated, 800.0, 2)][..];
    let failing = &[(Complete, 800.0, 94), (HttpError, 0.0, 6)][..];
    check_all(
        &[("chat", well), ("coding", failing)],
        Level::Bad,
        "coding: 6 of 100 streams failed (6.0 %), above the 0.1 % that coding allows; time to first \
         visible token is 798 ms (p50) and 798 ms (p95), within the 5.0 s p95 target. Most frequent failure: HTTP error \
         (6 of 6 failures).",
    );
    check_all(
        &[("batch_rag", failing), ("chat", well), ("coding", failing)],
        Level::Bad,
        "coding: 6 of 100 streams failed (6.0 %), above the 0.1 % that coding allows; time to first \
         visible token is 798 ms (p50) and 798 ms (p95), within the 5.0 s p95 target. Most frequent failure: \
         HTTP error (6 of 6 failures). Same status: batch_rag.",
    );
    // Each use case is evaluated against its own targets: one waits for the end, another has no targets.
    let slow = &[(Complete, 1_500.0, 1_000)][..];
    check_all(
        &[("chat", &[(Complete, 800.0, 500)]), ("batch_rag", slow), ("poems", failing)],
        Level::Good,
        "batch_rag: end-to-end time is 14.9 s (p50) and 14.9 s (p95), within the 30 s p95 target for \
         batch_rag, and none of 1,000 streams failed.",
    );
}

#[test]
fn the_worst_has_the_most_bad_streams_beyond_its_objectives() {
    let large = stats("chat", &[(Complete, 800.0, 1_900), (Complete, 3_000.0, 110)]);
    let small = stats("chat", &[(Complete, 800.0, 150), (Complete, 3_000.0, 150)]);
    let cases = [case("large", "chat", &large), case("small", "chat", &small)];
    let verdicts = judge_all(&cases);
    assert!(verdicts.iter().all(|verdict| verdict.level == Level::Bad));
    assert_eq!(
        worst_first(&cases, &verdicts),
        [1, 0],
        "90 beyond 1 % of 2,010 against 147 beyond 1 % of 300"
    );
}

#[test]
fn a_use_case_is_measured_only_by_targets_that_it_has() {
    check(
        "batch_rag",
        &[(Complete, 3_500.0, 40)],
        Level::Bad,
        "End-to-end time is 35 s (p50) and 35 s (p95), above the 30 s p95 target for batch_rag, and none \
         of 40 streams failed. Cause: decode speed (40 of 40 slow streams).",
    );
    check(
        "poems",
        &[(Complete, 3_500.0, 40)],
        Level::None,
        "Time to first visible token is 3.5 s (p50) and 3.5 s (p95) (poems has no target for it), and \
         none of 40 streams failed.",
    );
}

#[test]
fn end_to_end_targets_lead_over_first_tokens() {
    check(
        "batch_rag",
        &[(Complete, 900.0, 40)],
        Level::Good,
        "End-to-end time is 9.0 s (p50) and 9.0 s (p95), within the 30 s p95 target for batch_rag, and none of 40 \
         streams failed.",
    );
    let whole = Speed::of(&responses(40), &Targets::of("batch_rag")).describe(None);
    assert!(whole.starts_with("end-to-end time is 9.0 s (p50)"), "{whole}");
    assert_eq!(
        Speed::of(&responses(40), &Targets::default()).describe(None),
        whole.split(',').next().unwrap()
    );
    let none = Speed::of(&responses(0), &Targets::of("batch_rag")).describe(None);
    assert_eq!(none, "no stream has an end-to-end time");
}

/// Whole JSON responses, which have no first token.
fn responses(count: usize) -> WindowStats {
    let mut stats = WindowStats::default();
    let report = StreamReport { outcome: Complete, e2e_ms: Some(9_000.0), ..StreamReport::new("0") };
    for _ in 0..count {
        stats.add(&report, Judgement::of(&report, &Targets::of("batch_rag")));
    }
    stats
}

#[test]
fn a_missed_e2e_target_is_reported_if_first_tokens_are_in_time() {
    let both = Targets { e2e_p95_ms: Some(6_000.0), ..Targets::of("chat") };
    let verdict =
        |streams: &Streams| judge(&Case { targets: both, ..case("demo", "chat", &stats("chat", streams)) });
    let slow_end = verdict(&[(Complete, 700.0, 40)]);
    assert_eq!(
        (slow_end.level, slow_end.text.as_str()),
        (
            Level::Bad,
            "End-to-end time is 7.0 s (p50) and 7.0 s (p95), above the 6.0 s p95 target for chat, and \
             none of 40 streams failed."
        )
    );
    assert_eq!(verdict(&[(Complete, 500.0, 40)]).level, Level::Good);
    let both_slow = verdict(&[(Complete, 3_100.0, 40)]);
    assert!(both_slow.text.contains("(p95), above the 2.0 s p95 target"), "{both_slow:?}");
}

#[test]
fn a_missed_integrity_target_is_reported() {
    let targets = Targets { integrity: Some(0.99), ..Targets::of("chat") };
    let mut stats = stats("chat", &[(Complete, 500.0, 90)]);
    let mut lossy = StreamReport { outcome: Complete, ttfv_ms: Some(500.0), ..StreamReport::new("0") };
    lossy.defects.add(beacon::Defect::InvalidUtf8);
    for _ in 0..10 {
        stats.add(&lossy, Judgement::default());
    }
    let verdict = judge(&Case { targets, ..case("demo", "chat", &stats) });
    assert_eq!(
        (verdict.level, verdict.text.as_str()),
        (
            Level::Bad,
            "10 of 100 streams did not arrive intact (10.0 %), above the 1.0 % that chat allows; time to \
             first visible token is 496 ms (p50) and 496 ms (p95), within the 2.0 s p95 target. Most frequent reason: \
             invalid utf8 (10 of 10 broken streams)."
        )
    );
}

#[test]
fn a_short_wait_just_over_its_target_keeps_its_digits() {
    assert_eq!(seconds_beside(85.4, 85.0), "85.4 ms");
    assert_eq!(seconds_beside(104.0, 100.0), "104 ms");
    assert_eq!(seconds_beside(2_030.0, 2_000.0), "2.03 s");
    assert_eq!(seconds_beside(2_003.0, 2_000.0), "2.003 s");
    assert_eq!(seconds_beside(14_860.0, 15_000.0), "14.9 s");
    assert_eq!(seconds_beside(2_000.0, 2_000.0), "2.0 s");
}

#[test]
fn a_share_just_over_its_target_keeps_its_digits() {
    assert_eq!(percent_beside(9.0 / 1_706.0, 0.005), "0.53 %");
    assert_eq!(percent_beside(0.00502, 0.005), "0.502 %");
    assert_eq!(percent_beside(0.949_9, 0.95), "94.99 %");
    assert_eq!(percent_beside(0.05, 0.005), "5.0 %");
    assert_eq!(percent_beside(0.005, 0.005), "0.5 %");
}

#[test]
fn below_a_second_a_wait_has_its_milliseconds() {
    assert_eq!([85.2, 149.0, 999.4, 1_049.0].map(seconds), ["85 ms", "149 ms", "999 ms", "1.0 s"]);
}

/// A chat that a healthy service gives.
fn chat() -> StreamReport {
    StreamReport {
        outcome: Complete,
        ttft_ms: Some(400.0),
        ttfv_ms: Some(400.0),
        e2e_ms: Some(4_400.0),
        tpot_ms: Some(40.0),
        longest_gap_ms: Some(300.0),
        ..StreamReport::new("0")
    }
}

fn chats(streams: &[(StreamReport, usize)]) -> WindowStats {
    let mut stats = WindowStats::default();
    for (report, count) in streams {
        let judgement = Judgement::of(report, &Targets::of("chat"));
        (0..*count).for_each(|_| stats.add(report, judgement));
    }
    stats
}

#[track_caller]
fn check_chats(streams: &[(StreamReport, usize)], level: Level, text: &str) {
    let stats = chats(streams);
    let verdict = verdict(0, &[case("demo", "chat", &stats)]);
    assert_eq!((verdict.level, verdict.text.as_str()), (level, text));
}

#[test]
fn slow_tokens_are_out_of_target() {
    check_chats(
        &[(StreamReport { tpot_ms: Some(121.0), ..chat() }, 500)],
        Level::Bad,
        "Time per output token is 121 ms (p50), above the 80 ms target for chat; 500 of 500 streams missed their \
         pace. Time to first visible token is 399 ms (p50) and 399 ms (p95), within the 2.0 s p95 target for chat, and \
         none of 500 streams failed. Cause: decode speed (500 of 500 slow streams).",
    );
}

#[test]
fn stalled_streams_are_out_of_target() {
    check_chats(
        &[(StreamReport { longest_gap_ms: Some(15_000.0), ..chat() }, 500)],
        Level::Bad,
        "500 of 500 streams took more than 80 ms per token or paused for more than 10 s (100.0 %), above the 5.0 % \
         that chat allows. Time to first visible token is 399 ms (p50) and 399 ms (p95), within the 2.0 s p95 target \
         for chat, and none of 500 streams failed. Cause not visible: no server timing.",
    );
}

#[test]
fn the_same_wait_has_different_causes() {
    let slow = StreamReport { ttft_ms: Some(3_000.0), ttfv_ms: Some(3_000.0), ..chat() };
    let server = |queue_ms, ttft_ms| {
        let source = "vllm".into();
        Some(ServerTiming { source, queue_ms: Some(queue_ms), ttft_ms: Some(ttft_ms), ..Default::default() })
    };
    let blocked = Some(PageLifecycle { long_frames_ms: Some(2_600.0), ..PageLifecycle::default() });
    for (report, cause) in [
        (
            StreamReport { server: server(2_300.0, 2_800.0), ..slow.clone() },
            "Cause: server queue (100 of 100 slow",
        ),
        (
            StreamReport { server: server(50.0, 300.0), ..slow.clone() },
            "Cause: network or proxy (100 of 100 slow",
        ),
        (
            StreamReport { server: server(50.0, 300.0), page_lifecycle: blocked, ..slow.clone() },
            "Cause: busy main thread of the page (100 of 100 slow",
        ),
        (slow, "Cause not visible: no server timing."),
    ] {
        let stats = chats(&[(report, 100)]);
        let verdict = verdict(0, &[case("demo", "chat", &stats)]);
        assert_eq!(verdict.level, Level::Bad);
        assert!(verdict.text.contains(cause), "{cause}: {}", verdict.text);
    }
}

#[test]
fn more_slow_streams_than_the_objective_allows_are_a_warning() {
    let slow = StreamReport { ttfv_ms: Some(3_970.0), ttft_ms: Some(3_970.0), ..chat() };
    let stats = chats(&[(chat(), 960), (slow, 30)]);
    let verdict = verdict(0, &[case("demo", "chat", &stats)]);
    assert_eq!(verdict.level, Level::Warn, "{}", verdict.text);
    let text =
        "30 of 990 streams showed their first token after more than 2.0 s (3.0 %), above the 1.0 % that chat";
    assert!(verdict.text.starts_with(text), "{}", verdict.text);
}

#[test]
fn an_alert_that_fires_is_never_healthy() {
    let alert = |severity| Alert {
        severity,
        rule: "speed",
        minutes: 1_440,
        bad: 40,
        total: 990,
        burn_rate: Some(4.04),
        limit_ms: None,
    };
    let stats = chats(&[(chat(), 990)]);
    for (severity, level) in [(Severity::Incident, Level::Bad), (Severity::Ticket, Level::Warn)] {
        let state = GroupState { alerts: vec![alert(severity)], least_budget: None, streams: 990 };
        let verdict = verdict(0, &[Case { state: Some(&state), ..case("demo", "chat", &stats) }]);
        assert_eq!(verdict.level, level, "{}", verdict.text);
        let text = format!("Alert {}: the speed budget burns 4.0 times too fast", severity.as_str());
        assert!(verdict.text.contains(&text), "{}", verdict.text);
    }
}

#[test]
fn an_overspent_budget_is_never_healthy() {
    let stats = chats(&[(chat(), 990)]);
    let state = GroupState { alerts: Vec::new(), least_budget: Some((Objective::Speed, -0.5)), streams: 990 };
    let verdict = verdict(0, &[Case { state: Some(&state), ..case("demo", "chat", &stats) }]);
    assert_eq!(verdict.level, Level::Warn, "{}", verdict.text);
    assert!(verdict.text.contains("The speed budget is overspent by 50.0 %."), "{}", verdict.text);
}

#[test]
fn the_verdict_names_the_site_of_a_smaller_group() {
    let slow = StreamReport { ttft_ms: Some(4_100.0), ttfv_ms: Some(4_100.0), ..chat() };
    let (bad, good) = (chats(&[(slow, 60), (chat(), 40)]), chats(&[(chat(), 5_000)]));
    let verdict = verdict(0, &[case("b", "chat", &good), case("a", "chat", &bad)]);
    assert_eq!((verdict.level, verdict.site.as_deref()), (Level::Bad, Some("a")));
    assert!(
        verdict.text.starts_with("a chat: time to first visible token is 4.1 s (p50)"),
        "{}",
        verdict.text
    );
}

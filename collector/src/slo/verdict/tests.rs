use beacon::{Outcome, StreamReport};

use super::*;
use crate::aggregate::judgement::Judgement;

/// Outcome, wait in milliseconds and number of streams.
type Streams = [(Outcome, f64, usize)];

fn stats(streams: &Streams) -> WindowStats {
    let mut stats = WindowStats::default();
    for &(outcome, wait_ms, count) in streams {
        let report = StreamReport {
            outcome,
            ttfv_ms: Some(wait_ms).filter(|_| outcome != HttpError),
            e2e_ms: Some(wait_ms * 10.0),
            ..StreamReport::new("0")
        };
        for _ in 0..count {
            stats.add(&report, Judgement::default());
        }
    }
    stats
}

#[track_caller]
fn check(use_case: &str, streams: &Streams, level: Level, text: &str) {
    check_all(&[(use_case, streams)], level, text);
}

#[track_caller]
fn check_all(cases: &[(&str, &Streams)], level: Level, text: &str) {
    let all_stats: Vec<_> = cases.iter().map(|(_, streams)| stats(streams)).collect();
    let cases = cases.iter().zip(&all_stats);
    let verdict =
        of(0, cases.map(|((use_case, _), stats)| Case { use_case, stats, targets: Targets::of(use_case) }));
    assert_eq!((verdict.level, verdict.text.as_str()), (level, text));
}

use Outcome::{Aborted, Complete, HttpError, Truncated};

#[test]
fn a_period_without_eligible_streams_has_no_verdict() {
    check("chat", &[], Level::None, "No streams in this period.");
    let running = of(3, std::iter::empty());
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
    let mut waited = stats(&[(Complete, 800.0, 930), (Complete, 3_000.0, 40)]);
    let with_leavers = |stats: &mut WindowStats, count, close_ms| {
        let close_ms = Some(close_ms);
        let report = StreamReport { outcome: Aborted, close_ms, ..StreamReport::new("0") };
        (0..count).for_each(|_| stats.add(&report, Judgement::default()));
    };
    let verdict = |stats: &WindowStats| {
        let verdict = of(0, [Case { use_case: "chat", stats, targets: Targets::of("chat") }].into_iter());
        (verdict.level, verdict.text)
    };
    let kept =
        "Time to first visible token is 798 ms (p50) and 798 ms (p95), within the 2.0 s p95 target for chat";
    assert_eq!(verdict(&waited), (Level::Good, format!("{kept}, and none of 970 streams failed.")));
    with_leavers(&mut waited, 60, 100.0);
    assert_eq!(verdict(&waited).0, Level::Good, "who leaves at once says nothing of waits");
    with_leavers(&mut waited, 30, 1_500.0);
    let hidden = "but 3.0 s (p95) if the 90 streams that ended before it are included";
    assert_eq!(verdict(&waited), (Level::Warn, format!("{kept}, {hidden}, and none of 970 streams failed.")));
    with_leavers(&mut waited, 60, 4_000.0);
    let hidden = "but 150 streams ended before it, too many to be sure";
    assert_eq!(verdict(&waited), (Level::Warn, format!("{kept}, {hidden}, and none of 970 streams failed.")));
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
         chat, and none of 100 streams failed.",
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
         p99 target for chat, and none of 1,000 streams failed.",
    );
}

#[test]
fn just_over_the_target_does_not_read_as_the_target() {
    check(
        "chat",
        &[(Complete, 500.0, 50), (Complete, 2_040.0, 50)],
        Level::Bad,
        "Time to first visible token is 496 ms (p50) and 2.03 s (p95), above the 2.0 s p95 target for \
         chat, and none of 100 streams failed.",
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
         token is 798 ms (p50) and 798 ms (p95), within the 2.0 s p95 target.",
    );
    check(
        "chat",
        &[(HttpError, 0.0, 40)],
        Level::Bad,
        "40 of 40 streams failed (100.0 %), above the 0.5 % that chat allows; no stream showed a visible \
         token.",
    );
    check(
        "chat",
        &[(Complete, 3_100.0, 90), (Truncated, 3_100.0, 10)],
        Level::Bad,
        "10 of 100 streams failed (10.0 %), above the 0.5 % that chat allows, and time to first visible \
         token is 3.1 s (p50) and 3.1 s (p95), above the 2.0 s p95 target.",
    );
}

#[test]
fn a_verdict_over_few_streams_says_so() {
    check(
        "chat",
        &[(Complete, 3_100.0, 12)],
        Level::Warn,
        "Low traffic (12 streams). Time to first visible token is 3.1 s (p50) and 3.1 s (p95), above the \
         2.0 s p95 target for chat, and none of 12 streams failed.",
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
         is 798 ms (p50) and 798 ms (p95), within the 5.0 s p95 target.",
    );
    check(
        "coding",
        &[(Complete, 6_000.0, 247), (HttpError, 0.0, 1)],
        Level::Bad,
        "1 of 248 streams failed (0.4 %), above the 0.1 % that coding allows, not statistically \
         significant, and time to first visible token is 6.0 s (p50) and 6.0 s (p95), above the 5.0 s p95 \
         target.",
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
         visible token is 798 ms (p50) and 798 ms (p95), within the 5.0 s p95 target.",
    );
    check_all(
        &[("batch_rag", failing), ("chat", well), ("coding", failing)],
        Level::Bad,
        "coding: 6 of 100 streams failed (6.0 %), above the 0.1 % that coding allows; time to first \
         visible token is 798 ms (p50) and 798 ms (p95), within the 5.0 s p95 target. Same status: \
         batch_rag.",
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
fn a_use_case_is_measured_only_by_targets_that_it_has() {
    check(
        "batch_rag",
        &[(Complete, 3_500.0, 40)],
        Level::Bad,
        "End-to-end time is 35 s (p50) and 35 s (p95), above the 30 s p95 target for batch_rag, and none \
         of 40 streams failed.",
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
fn a_missed_e2e_target_is_reported_if_first_tokens_are_in_time() {
    let both = Targets { e2e_p95_ms: Some(6_000.0), ..Targets::of("chat") };
    let verdict = |streams: &Streams| judge(&stats(streams), "chat", &both);
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
    let mut stats = stats(&[(Complete, 500.0, 90)]);
    let mut lossy = StreamReport { outcome: Complete, ttfv_ms: Some(500.0), ..StreamReport::new("0") };
    lossy.defects.add(beacon::Defect::InvalidUtf8);
    for _ in 0..10 {
        stats.add(&lossy, Judgement::default());
    }
    let verdict = judge(&stats, "chat", &targets);
    assert_eq!(
        (verdict.level, verdict.text.as_str()),
        (
            Level::Bad,
            "10 of 100 streams did not arrive intact (10.0 %), above the 1.0 % that chat allows; time to \
             first visible token is 496 ms (p50) and 496 ms (p95), within the 2.0 s p95 target."
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
fn below_a_second_a_wait_has_its_milliseconds() {
    assert_eq!([85.2, 149.0, 999.4, 1_049.0].map(seconds), ["85 ms", "149 ms", "999 ms", "1.0 s"]);
}

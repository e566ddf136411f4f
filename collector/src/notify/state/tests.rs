use super::*;
use crate::slo::alert::GroupState;

/// 12:00 UTC of some day.
const NOON_MS: i64 = 1_795_608_000_000;

fn receiver(more: &str) -> Notify {
    toml::from_str(&format!("kind = 'slack'\nurl = 'https://hooks.example/1'\n{more}")).unwrap()
}

fn alert(severity: Severity) -> Alert {
    let burn_rate = Some(20.0);
    Alert { severity, rule: "availability", minutes: 60, bad: 20, total: 100, burn_rate, limit_ms: None }
}

fn wait(severity: Severity, rule: &'static str) -> Alert {
    Alert { rule, burn_rate: None, limit_ms: Some(4_000.0), ..alert(severity) }
}

fn states(site: &str, alerts: Vec<Alert>) -> GroupStates {
    let state = GroupState { alerts, ..GroupState::default() };
    GroupStates::from([([site.to_owned(), "chat".to_owned()], state)])
}

fn observe(state: &mut ReceiverState, receiver: &Notify, alerts: &[Alert], now_ms: i64) {
    let cause = |_: &[String; 2], _: &Alert| Some("Cause: server queue".to_owned());
    state.observe(receiver, &states("shop", alerts.to_vec()), now_ms, cause);
}

/// Delivers what may be sent, as `started P1`.
fn deliver(state: &mut ReceiverState, quiet: Option<&Quiet>, now_ms: i64) -> Vec<String> {
    let mut sent = Vec::new();
    while let Some(queued) = state.next_due(quiet, now_ms) {
        let Message { id, event, severity, .. } = queued.message.clone();
        state.delivered(&id);
        sent.push(format!("{} {}", event.as_str(), severity.as_str()));
    }
    sent
}

/// What a receiver gets if these alerts fire in these minutes after noon. The process ends between any two steps.
fn sent(more: &str, steps: &[(i64, &[Alert])]) -> Vec<String> {
    let receiver = receiver(more);
    let mut stored = serde_json::to_string(&ReceiverState::default()).unwrap();
    let mut all = Vec::new();
    for (minute, alerts) in steps {
        let now_ms = NOON_MS + minute * MINUTE_MS;
        let mut state: ReceiverState = serde_json::from_str(&stored).unwrap();
        observe(&mut state, &receiver, alerts, now_ms);
        stored = serde_json::to_string(&state).unwrap();
        let mut state: ReceiverState = serde_json::from_str(&stored).unwrap();
        all.extend(deliver(&mut state, receiver.quiet.as_ref(), now_ms));
        stored = serde_json::to_string(&state).unwrap();
    }
    all
}

#[test]
fn an_alert_sends_its_start_and_its_end_once() {
    let page = [alert(Severity::Page)];
    let steps: [(i64, &[Alert]); 6] = [(0, &page), (1, &page), (2, &page), (3, &[]), (12, &[]), (13, &[])];
    assert_eq!(sent("", &steps[..5]), ["started page"]);
    assert_eq!(sent("", &steps), ["started page", "ended page"]);
}

#[test]
fn an_alert_that_comes_back_soon_sends_nothing() {
    let page = [alert(Severity::Page)];
    assert_eq!(sent("", &[(0, &page), (1, &[]), (10, &page), (11, &[]), (20, &[])]), ["started page"]);
}

#[test]
fn only_a_rising_severity_is_a_new_message() {
    let [page, incident] = [Severity::Page, Severity::Incident].map(|severity| [alert(severity)]);
    let steps: [(i64, &[Alert]); 4] = [(0, &incident), (1, &page), (2, &incident), (3, &page)];
    assert_eq!(sent("", &steps), ["started incident", "raised page"]);
}

#[test]
fn a_wait_alert_stays_the_same_under_another_percentile() {
    let (p1, p2) = ([wait(Severity::P1, "ttft_p99")], [wait(Severity::P2, "ttft_p95")]);
    let steps: [(i64, &[Alert]); 4] = [(0, &p2), (1, &p1), (2, &p2), (30, &p2)];
    assert_eq!(sent("", &steps), ["started P2", "raised P1"]);
}

#[test]
fn a_receiver_gets_only_its_severities_and_sites() {
    let both = [alert(Severity::Page), wait(Severity::P2, "ttft_p95")];
    assert_eq!(sent("on = ['page']", &[(0, &both)]), ["started page"]);
    assert_eq!(sent("sites = ['shop']", &[(0, &both)]).len(), 2);
    assert!(sent("sites = ['other']", &[(0, &both)]).is_empty());
}

#[test]
fn quiet_hours_delay_all_but_the_most_urgent() {
    let both = [alert(Severity::Page), wait(Severity::P2, "ttft_p95")];
    let quiet = "quiet = '11:30-12:30'";
    assert_eq!(sent(quiet, &[(0, &both), (29, &both)]), ["started page"]);
    assert_eq!(sent(quiet, &[(0, &both), (29, &both), (30, &both)]), ["started page", "started P2"]);
    let p2 = [wait(Severity::P2, "ttft_p95")];
    let over = sent(quiet, &[(0, &p2), (1, &[]), (15, &[]), (30, &[])]);
    assert_eq!(over, ["started P2", "ended P2"], "both are sent after the quiet hours");
}

#[test]
fn a_raised_alert_replaces_the_message_that_waits() {
    let (p1, p2) = ([wait(Severity::P1, "ttft_p99")], [wait(Severity::P2, "ttft_p95")]);
    let steps: [(i64, &[Alert]); 3] = [(0, &p2), (1, &p1), (40, &p1)];
    assert_eq!(sent("quiet = '11:30-12:30'", &steps), ["started P1"]);
}

#[test]
fn failed_messages_are_retried_for_an_hour() {
    let (mut state, receiver) = (ReceiverState::default(), receiver(""));
    observe(&mut state, &receiver, &[alert(Severity::Page)], NOON_MS);
    let (mut now_ms, mut seconds) = (NOON_MS, Vec::new());
    loop {
        let id = state.next_due(None, now_ms).expect("it is due").message.id.clone();
        seconds.push((now_ms - NOON_MS) / 1_000);
        if state.failed(&id, now_ms, None) == AfterFailure::GivenUp {
            break;
        }
        assert!(state.next_due(None, now_ms).is_none());
        now_ms = state.queue[0].next_attempt_ms;
    }
    assert_eq!(seconds, [0, 10, 30, 70, 150, 310, 630, 1_270, 2_550, 3_600]);
    assert!(state.queue.is_empty());
}

#[test]
fn a_receiver_may_ask_for_a_longer_delay() {
    let (mut state, receiver) = (ReceiverState::default(), receiver(""));
    observe(&mut state, &receiver, &[alert(Severity::Page)], NOON_MS);
    let id = state.queue[0].message.id.clone();
    assert_eq!(state.failed(&id, NOON_MS, Some(60_000)), AfterFailure::Retry);
    assert!(state.next_due(None, NOON_MS + 59_999).is_none());
    assert!(state.next_due(None, NOON_MS + 60_000).is_some());
    // But not for more than the hour.
    assert_eq!(state.failed(&id, NOON_MS + 60_000, Some(24 * HOUR_MS)), AfterFailure::Retry);
    assert!(state.next_due(None, NOON_MS + HOUR_MS).is_some());
}

#[test]
fn the_end_never_overtakes_the_start() {
    let (mut state, receiver) = (ReceiverState::default(), receiver(""));
    observe(&mut state, &receiver, &[alert(Severity::Page)], NOON_MS);
    for minute in 1..=11 {
        observe(&mut state, &receiver, &[], NOON_MS + minute * MINUTE_MS);
    }
    let now_ms = NOON_MS + 11 * MINUTE_MS;
    let id = state.queue[0].message.id.clone();
    assert_eq!((state.queue.len(), state.failed(&id, now_ms, None)), (2, AfterFailure::Retry));
    assert!(state.next_due(None, now_ms).is_none());
    assert_eq!(deliver(&mut state, None, now_ms + 10_000), ["started page", "ended page"]);
}

#[test]
fn messages_have_ids_of_their_own() {
    let (mut state, receiver) = (ReceiverState::default(), receiver(""));
    let mut states = states("shop", vec![alert(Severity::Page)]);
    for use_case in ["a b", "a_b"] {
        let one = states.values().next().unwrap().clone();
        states.insert(["shop".to_owned(), use_case.to_owned()], one);
    }
    state.observe(&receiver, &states, NOON_MS, |_, _| None);
    let ids: std::collections::BTreeSet<_> = state.queue.iter().map(|queued| &queued.message.id).collect();
    assert_eq!(ids.len(), 3);
}

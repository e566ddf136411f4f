//! Tests of plans: every scenario in every API, without a clock or a socket.

use super::*;
use crate::event::Moments;

fn asked() -> Asked {
    Asked { model: "demo-model".to_owned(), body_bytes: 120, created: 1_795_174_141 }
}

fn scenario_of(kind: Kind) -> Scenario {
    let row = crate::scenario::TABLE.iter().find(|row| row.kind == kind).unwrap();
    row.name.parse().unwrap()
}

fn planned(kind: Kind, api: Api) -> Plan {
    plan(&scenario_of(kind), api, &asked(), 7)
}

/// The text of all events of a plan.
fn events(plan: &Plan) -> Vec<String> {
    let text = |step: &Step| match &step.act {
        Act::Make(event) => Some(event.text(&Moments::default())),
        _ => None,
    };
    plan.steps.iter().filter_map(text).collect()
}

fn deltas(plan: &Plan) -> usize {
    plan.steps.iter().filter(|step| matches!(&step.act, Act::Make(event) if event.tokens > 0)).count()
}

/// Time of the first generated text.
fn first_token(plan: &Plan) -> Duration {
    let carries_text = |step: &Step| matches!(&step.act, Act::Make(event) if event.tokens > 0);
    let made = plan.steps.iter().position(carries_text).unwrap();
    plan.steps[made..].iter().find(|step| matches!(step.act, Act::Write)).unwrap().at
}

fn writes(plan: &Plan) -> Vec<Duration> {
    plan.steps.iter().filter(|step| matches!(step.act, Act::Write)).map(|step| step.at).collect()
}

fn longest_gap(plan: &Plan) -> Duration {
    writes(plan).windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
}

fn for_each_api(check: impl Fn(Api)) {
    Api::ALL.into_iter().for_each(check);
}

/// The text in an API's last event that ends a stream.
fn terminal(api: Api) -> &'static str {
    match api {
        Api::OpenaiChat => "data: [DONE]",
        Api::OpenaiResponses => "event: response.completed",
        Api::Anthropic => "event: message_stop",
        Api::Ollama => "\"done\":true",
    }
}

fn is_terminated(plan: &Plan, api: Api) -> bool {
    events(plan).last().unwrap().contains(terminal(api))
}

#[test]
fn the_same_seed_gives_the_same_plan_and_another_seed_another() {
    let scenario = scenario_of(Kind::Normal);
    let told = |seed| format!("{:?}", plan(&scenario, Api::OpenaiChat, &asked(), seed));
    assert_eq!(told(1), told(1));
    assert_ne!(told(1), told(2));
}

#[test]
fn steps_are_in_time_order_and_write_every_event() {
    for row in crate::scenario::TABLE {
        for_each_api(|api| {
            let plan = planned(row.kind, api);
            assert!(plan.steps.is_sorted_by_key(|step| step.at), "{} {}", row.name, api.name());
            let last = plan.steps.last().map(|step| &step.act);
            assert!(matches!(last, None | Some(Act::Write)), "{} {}", row.name, api.name());
        });
    }
}

#[test]
fn a_normal_response_has_the_given_ttft_and_chunk_gaps() {
    for seed in 0..200 {
        let plan = plan(&scenario_of(Kind::Normal), Api::OpenaiChat, &asked(), seed);
        let first = first_token(&plan);
        assert!((80..=400).contains(&first.as_millis()), "{first:?}");
        let texts: Vec<_> = writes(&plan).into_iter().filter(|&at| at >= first).collect();
        let (closing, texts) = texts.split_last().unwrap();
        assert!(texts.windows(2).all(|pair| (8..=25).contains(&(pair[1] - pair[0]).as_millis())));
        assert!(*closing > *texts.last().unwrap());
        assert!((28..=40).contains(&deltas(&plan)));
    }
}

#[test]
fn only_intact_responses_end_with_a_terminal_event() {
    use Kind::{
        Buffered, CutClean, CutSocket, Malformed, Normal, ProviderError, SlowFirstToken, Stall, UserStops,
    };
    for_each_api(|api| {
        for kind in [Normal, SlowFirstToken, Stall, Malformed, Buffered, UserStops] {
            let plan = planned(kind, api);
            assert!(is_terminated(&plan, api), "{kind:?} {api:?}");
            assert_eq!(plan.ending, Ending::Close);
        }
        for (kind, ending) in [(CutSocket, Ending::Cut), (CutClean, Ending::Close)] {
            let plan = planned(kind, api);
            assert!(!is_terminated(&plan, api), "{kind:?} {api:?}");
            assert_eq!((plan.ending, plan.status), (ending, 200));
            assert!(deltas(&plan) >= 10);
        }
        assert!(events(&planned(ProviderError, api)).iter().any(|event| event.contains("\"error\"")));
    });
}

#[test]
fn pauses_have_the_length_of_the_scenario() {
    for_each_api(|api| {
        assert_eq!(first_token(&planned(Kind::SlowFirstToken, api)), Duration::from_secs(3));
        let stall = longest_gap(&planned(Kind::Stall, api));
        assert!((2_600..2_630).contains(&stall.as_millis()), "{stall:?}");
        let minute = *writes(&planned(Kind::UserStops, api)).last().unwrap();
        assert!((55..65).contains(&minute.as_secs()), "{minute:?}");
    });
}

#[test]
fn a_buffered_response_is_one_write_with_an_early_ttft() {
    for_each_api(|api| {
        let plan = planned(Kind::Buffered, api);
        let written = writes(&plan);
        assert_eq!(written.len(), 1);
        assert!(written[0] > Duration::from_secs(1) && deltas(&plan) >= 8);
        let made = plan.steps.iter().find(|step| matches!(&step.act, Act::Make(e) if e.tokens > 0)).unwrap();
        assert!(made.at <= Duration::from_millis(400));
    });
}

#[test]
fn a_malformed_response_has_one_event_that_is_not_json() {
    for_each_api(|api| {
        let plan = planned(Kind::Malformed, api);
        let data = |event: &String| {
            let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(event);
            data.to_owned()
        };
        let is_good = |data: &String| {
            data.starts_with(':')
                || data == "[DONE]"
                || serde_json::from_str::<serde_json::Value>(data).is_ok()
        };
        assert_eq!(events(&plan).iter().map(data).filter(|data| !is_good(data)).count(), 1, "{api:?}");
    });
}

#[test]
fn an_http_error_has_json_and_an_empty_response_no_body() {
    for_each_api(|api| {
        let statuses: Vec<u16> = (0..20)
            .map(|seed| {
                let plan = plan(&scenario_of(Kind::HttpError), api, &asked(), seed);
                assert_eq!(plan.content_type, "application/json");
                let body: serde_json::Value = serde_json::from_str(&events(&plan)[0]).unwrap();
                assert!(body.get("error").is_some());
                plan.status
            })
            .collect();
        assert!(statuses.contains(&429) && statuses.contains(&500));
        let empty = planned(Kind::Empty, api);
        assert_eq!((empty.status, empty.content_type, empty.steps.len()), (200, api.content_type(), 0));
    });
}

#[test]
fn responses_events_are_numbered_without_a_gap() {
    for kind in [Kind::Normal, Kind::ProviderError] {
        let numbers: Vec<u64> = events(&planned(kind, Api::OpenaiResponses))
            .iter()
            .filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")))
            .map(|data| {
                serde_json::from_str::<serde_json::Value>(data).unwrap()["sequence_number"].as_u64().unwrap()
            })
            .collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    }
}

#[test]
fn written_tokens_equal_those_of_the_usage() {
    let plan = planned(Kind::Normal, Api::OpenaiChat);
    let written: u32 =
        plan.steps.iter().map(|step| if let Act::Make(e) = &step.act { e.tokens } else { 0 }).sum();
    let usage = events(&plan).into_iter().find(|event| event.contains("\"choices\":[]")).unwrap();
    assert!(usage.contains(&format!("\"completion_tokens\":{written},")), "{usage}");
    assert!(written as usize > deltas(&plan));
}

#[test]
fn writes_follow_the_given_pace() {
    let scenario: Scenario = "normal;first=1000;gap=100;deltas=50".parse().unwrap();
    let plan = plan(&scenario, Api::Anthropic, &asked(), 3);
    assert_eq!(first_token(&plan), Duration::from_secs(1));
    assert_eq!(deltas(&plan), 50);
    let last = writes(&plan).last().unwrap().as_millis();
    assert!((1_000 + 49 * 75..=1_000 + 49 * 125 + 5).contains(&last), "{last}");
}

#[test]
fn the_recorded_stream_keeps_its_reads_and_times() {
    let plan = planned(Kind::Recorded, Api::OpenaiChat);
    assert_eq!(plan.id.as_deref(), Some("chatcmpl-YZ2Skm6ZwLA8znhvgY2LOkBRm5KZJr0u"));
    assert_eq!(first_token(&plan), Duration::from_secs_f64(0.110_363));
    assert_eq!(writes(&plan).last(), Some(&Duration::from_secs_f64(2.623_823)));
    assert_eq!((writes(&plan).len(), deltas(&plan)), (200, 198));
}

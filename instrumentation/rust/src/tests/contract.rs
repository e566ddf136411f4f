//! Every case of the contract, for every client.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use serde_json::Value;

use super::case::{CONTRACT, check, check_fact, cuts, default_headers, headers_of, list, steps};
use super::scripted::{Received, Step, clock, receive, respond_with};
use crate::{LlmRumLayer, StreamEnd};

fn run(case: &Value, client: &Value, sent: &[Step]) -> Received {
    run_with(&LlmRumLayer::with_clock(clock), case, client, sent)
}

fn run_with(layer: &LlmRumLayer, case: &Value, client: &Value, sent: &[Step]) -> Received {
    let methods = [&case["request"]["method"], &client["method"]];
    let method = methods.into_iter().find_map(Value::as_str).unwrap_or("POST");
    let mut request = Request::builder().method(method).uri("/chat");
    for (name, value) in headers_of(&client["headers"]) {
        request = request.header(name, value);
    }
    let given = &case["response"];
    let status = given["status"].as_u64().unwrap_or(200) as u16;
    let mut response = Response::builder().status(status);
    for (name, value) in given.get("headers").map_or_else(default_headers, headers_of) {
        response = response.header(name, value);
    }
    receive(respond_with(layer, request.body(()).unwrap(), response.body(()).unwrap(), sent), sent)
}

#[test]
fn each_client_gets_its_body() {
    for case in list(&CONTRACT, "cases") {
        for client in list(&CONTRACT, "clients") {
            println!("{} {}", case["name"], client["name"]);
            let sent = steps(case);
            check(case, client, &sent, &run(case, client, &sent));
        }
    }
}

#[test]
fn any_cut_gives_the_same_body() {
    let clients = list(&CONTRACT, "clients");
    let cases = list(&CONTRACT, "cases").iter().filter(|case| case["cut_at_every_byte"] == true);
    let mut runs = 0;
    for case in cases {
        println!("{}", case["name"]);
        for sent in cuts(case) {
            for client in clients {
                check(case, client, &sent, &run(case, client, &sent));
                runs += 1;
            }
        }
    }
    assert!(runs > 1_000, "{runs} cuts");
}

#[test]
fn the_app_hears_the_facts_of_the_contract() {
    for case in list(&CONTRACT, "fact_cases") {
        for client in list(&CONTRACT, "clients") {
            println!("{} {}", case["name"], client["name"]);
            let ends = Arc::new(Mutex::new(Vec::new()));
            let heard = ends.clone();
            let layer = LlmRumLayer::with_clock(clock).on_end(move |end| heard.lock().unwrap().push(end));
            let sent = steps(case);
            let received = run_with(&layer, case, client, &sent);
            let body = StreamEnd::json_of(&std::mem::take(&mut *ends.lock().unwrap()));
            check_fact(case, client, &sent, &received.text(), &serde_json::from_str(&body).unwrap());
        }
    }
}

//! The row with the metrics of inference engines, for a Prometheus that scrapes them too. Without such an engine the
//! panels are empty.

use super::panel::{Panel, Question, Section, asked, limit, lines};
use super::promql::QUEUE_CAP;

pub(super) fn section() -> Section {
    Section { title: "Engines: vLLM, SGLang, llama.cpp", is_collapsed: true, panels: panels() }
}

fn panels() -> Vec<Panel> {
    let waiting = ["vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred"];
    let running = ["vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing"];
    let mut waiting = sums(waiting);
    waiting.push(limit(format!("vector(${QUEUE_CAP})"), "cap"));
    let cache = vec![
        // vLLM renamed it; only one of the two is there.
        of(VLLM, "max by (model_name) (vllm:kv_cache_usage_perc or vllm:gpu_cache_usage_perc)".to_owned()),
        of(SGLANG, "max by (model_name) (sglang:token_usage)".to_owned()),
    ];
    let first_token = ["vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"];
    let queue = ["vllm:request_queue_time_seconds", "sglang:queue_time_seconds"];
    let preempted = vec![
        of(VLLM, per_second("vllm:num_preemptions_total", "model_name")),
        of(SGLANG, per_second("sglang:num_retracted_requests_total", "model_name")),
    ];
    let panels = [
        lines("Waiting requests", "short", 8, waiting)
            .about("All requests of the engine, API traffic included. The line is the variable “Queue cap”."),
        lines("Running requests", "short", 8, sums(running)),
        lines("KV cache in use", "percentunit", 8, cache).about("llama.cpp does not report it."),
        lines("Time to first token in the engine, p95", "s", 8, p95(first_token))
            .about("All requests of the engine: other streams than those of the browsers."),
        lines("Queue time in the engine, p95", "s", 8, p95(queue)),
        lines("Preempted requests", "reqps", 8, preempted)
            .about("Requests that lost their KV cache and start again: their tokens pause."),
        lines("Speculative tokens accepted", "percentunit", 8, accepted()),
    ];
    panels.map(|panel| panel.or_text("no engine metrics")).into()
}

fn sums([vllm, sglang, llama_cpp]: [&str; 3]) -> Vec<Question> {
    vec![
        of(VLLM, format!("sum by (model_name) ({vllm})")),
        of(SGLANG, format!("sum by (model_name) ({sglang})")),
        of(LLAMA_CPP, format!("sum by (instance) ({llama_cpp})")),
    ]
}

fn p95([vllm, sglang]: [&str; 2]) -> Vec<Question> {
    let p95 = |name: &str| {
        let buckets = per_second(&format!("{name}_bucket"), "le, model_name");
        format!("histogram_quantile(0.95, {buckets})")
    };
    vec![of(VLLM, p95(vllm)), of(SGLANG, p95(sglang))]
}

fn accepted() -> Vec<Question> {
    let share = |engine: &str, by: &str| {
        let tokens = |kind: &str| per_second(&format!("{engine}:spec_decode_num_{kind}_tokens_total"), by);
        format!("{} / {}", tokens("accepted"), tokens("draft"))
    };
    vec![
        of(VLLM, share("vllm", "model_name")),
        of(SGLANG, "max by (model_name) (sglang:spec_accept_rate)".to_owned()),
        of(LLAMA_CPP, share("llamacpp", "instance")),
    ]
}

fn per_second(name: &str, by: &str) -> String {
    format!("sum by ({by}) (rate({name}[$__rate_interval]))")
}

fn of(legend: &str, expr: String) -> Question {
    asked(expr, legend)
}

const VLLM: &str = "vLLM {{model_name}}";
const SGLANG: &str = "SGLang {{model_name}}";
/// It has no label for the model.
const LLAMA_CPP: &str = "llama.cpp {{instance}}";

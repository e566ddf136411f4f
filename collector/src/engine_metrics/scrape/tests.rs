use super::*;

const VLLM: &str = include_str!("../../../tests/fixtures/engines/vllm.prom");
const SGLANG: &str = include_str!("../../../tests/fixtures/engines/sglang.prom");
const LLAMA_CPP: &str = include_str!("../../../tests/fixtures/engines/llama-cpp.prom");
const LLAMA_CPP_BUSY: &str = include_str!("../../../tests/fixtures/engines/llama-cpp-busy.prom");
const LITELLM: &str = include_str!("../../../tests/fixtures/engines/litellm.prom");

fn engine(more: &str) -> Engine {
    toml::from_str(&format!("url = \"http://127.0.0.1:1/metrics\"\n{more}")).unwrap()
}

fn gauges(scrape: &Scrape) -> Vec<(&str, Figure, f64)> {
    scrape.gauges.iter().map(|((model, figure), value)| (model.as_str(), *figure, *value)).collect()
}

fn missing(scrape: &Scrape) -> Vec<Figure> {
    let missing = scrape.metrics.iter().filter(|search| search.found.is_none());
    missing.map(|search| search.figure).collect()
}

#[test]
fn processes_of_vllm_become_one_model() {
    let scrape = read(VLLM, &engine("models = { \"Qwen/Qwen3-32B\" = \"qwen3\" }")).unwrap();
    assert_eq!(scrape.kind, EngineKind::Vllm);
    let expected =
        [("qwen3", Figure::Waiting, 3.0), ("qwen3", Figure::Running, 21.0), ("qwen3", Figure::KvUsage, 0.91)];
    assert_eq!(gauges(&scrape), expected);
    assert_eq!(missing(&scrape), [Figure::Drafted, Figure::Accepted]);
    assert_eq!(scrape.counters.values().sum::<f64>(), 7.0 + 20_480.0 + 5_120.0);
}

#[test]
fn an_earlier_name_counts_only_without_the_present_one() {
    let earlier = "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.9\n";
    let alone = read(earlier, &engine("")).unwrap();
    assert_eq!(gauges(&alone), [("m", Figure::KvUsage, 0.9)]);
    let both = format!("{earlier}vllm:kv_cache_usage_perc{{model_name=\"m\"}} 0.2\n");
    assert_eq!(gauges(&read(&both, &engine("")).unwrap()), [("m", Figure::KvUsage, 0.2)]);
}

#[test]
fn ranks_that_repeat_the_figures_of_sglang_count_once() {
    let scrape = read(SGLANG, &engine("")).unwrap();
    assert_eq!(scrape.kind, EngineKind::Sglang);
    let running = ("deepseek-v3", Figure::Running, 7.0);
    assert!(gauges(&scrape).contains(&running), "{:?}", scrape.gauges);
}

#[test]
fn llama_cpp_needs_the_name_of_its_model() {
    assert_eq!(read(LLAMA_CPP, &engine("")), Err(Unreadable::ModelMissing));
    let scrape = read(LLAMA_CPP, &engine("model = \"tiny\"")).unwrap();
    assert_eq!(gauges(&scrape), [("tiny", Figure::Waiting, 0.0), ("tiny", Figure::Running, 0.0)]);
    let [kv, ..] = &missing(&scrape)[..] else { panic!("the recorded version has no KV usage") };
    assert_eq!(*kv, Figure::KvUsage);
}

#[test]
fn requests_wait_for_the_slot_of_a_busy_llama_cpp() {
    let scrape = read(LLAMA_CPP_BUSY, &engine("model = \"tiny\"")).unwrap();
    assert_eq!(gauges(&scrape), [("tiny", Figure::Waiting, 4.0), ("tiny", Figure::Running, 1.0)]);
    let counter = |wanted| {
        let of_figure = scrape.counters.iter().filter(|(series, _)| series.figure == wanted);
        of_figure.map(|(_, value)| *value).collect::<Vec<_>>()
    };
    assert_eq!(counter(Figure::CacheHits), [197.0]);
    // Accepted tokens by position have another name: they are in the sum already.
    assert_eq!((counter(Figure::Drafted), counter(Figure::Accepted)), (vec![21_786.0], vec![283.0]));
}

#[test]
fn litellm_has_running_requests_only() {
    let scrape = read(LITELLM, &engine("model = \"all\"")).unwrap();
    assert_eq!((scrape.kind, scrape.gauges.len()), (EngineKind::Litellm, 1));
}

#[test]
fn an_answer_without_known_metrics_names_the_reason() {
    assert_eq!(read("<html>", &engine("")), Err(Unreadable::NotText));
    assert_eq!(read("up 1\n", &engine("")), Err(Unreadable::UnknownMetrics));
    assert_eq!(read(VLLM, &engine("kind = \"sglang\"")), Err(Unreadable::UnknownMetrics));
}

#[test]
fn further_models_of_an_engine_are_other() {
    let line = |at: usize| format!("vllm:num_requests_waiting{{model_name=\"m{at}\"}} 1\n");
    let text: String = (0..MOST_MODELS + 7).map(line).collect();
    let scrape = read(&text, &engine("")).unwrap();
    assert_eq!(scrape.gauges.len(), MOST_MODELS + 1);
    assert_eq!(scrape.gauges[&(OTHER.to_owned(), Figure::Waiting)], 7.0);
}

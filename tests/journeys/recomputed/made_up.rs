//! Made-up reports: of every outcome, with and without each figure, and with figures on the edge of a target.

use serde_json::{Map, Value, json};

/// Makes them, the same from the same number.
pub(super) struct MadeUp {
    state: u64,
    made: u64,
}

impl MadeUp {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed, made: 0 }
    }

    pub(super) fn batch(&mut self, count: usize) -> Vec<Value> {
        (0..count).map(|_| self.report()).collect()
    }

    fn report(&mut self) -> Value {
        self.made += 1;
        let id = format!("{:032x}", self.made);
        let mut report = json!({ "v": 1, "id": id, "chunks": 1, "events": 1, "deltas": 1, "bytes": 99 });
        report["outcome"] = json!(self.one(&OUTCOMES));
        for (field, words) in [
            ("use_case", &["chat", "coding", "extraction", "batch_rag", "notes", ""][..]),
            ("provider", &["openai", "anthropic", "=odd,\"name\"", ""]),
            ("model", &["gpt-5", "claude-4", "qwen", "odd:name/1", ""]),
            ("response_model", &["gpt-5-2026", ""]),
            ("variant", &["a", "b", ""]),
            ("dialect", &["openai_chat", "anthropic", ""]),
        ] {
            let word = self.one(words);
            if !word.is_empty() {
                report[field] = json!(word);
            }
        }
        self.add_page(&mut report);
        self.add_moments(&mut report);
        self.add_counts(&mut report);
        report
    }

    fn add_page(&mut self, report: &mut Value) {
        let mut page = Map::new();
        for (field, words) in [
            ("browser", &["firefox", "chrome", "safari", ""][..]),
            ("browser_version", &["firefox 153", "chrome 156", ""]),
            ("os", &["windows", "android", "ios", ""]),
            ("device", &["desktop", "mobile", ""]),
            ("connection", &["4g", "slow-2g", "carrier pigeon", ""]),
            ("visibility", &["visible", "hidden", "mixed", ""]),
            ("release", &["v41", "v42", "=1,\"2\"", ""]),
            ("route", &["/chat/:id", "/search", ""]),
        ] {
            let word = self.one(words);
            if !word.is_empty() {
                page.insert(field.to_owned(), json!(word));
            }
        }
        report["page"] = Value::Object(page);
        let protocol = self.one(&["http/1.1", "h2", "h3", ""]);
        if !protocol.is_empty() {
            report["page_lifecycle"] = json!({ "protocol": protocol });
        }
        for (key, words) in [("plan", ["free", "pro", ""]), ("team", ["search", "", ""])] {
            let word = self.one(&words);
            if !word.is_empty() {
                report["attributes"][key] = json!(word);
            }
        }
        if self.below(12) == 0 {
            report["background"] = json!(true);
        }
        let finish_reason = self.one(&["stop", "length", ""]);
        if !finish_reason.is_empty() {
            report["finish_reason"] = json!(finish_reason);
        }
    }

    /// In order, as the door wants them.
    fn add_moments(&mut self, report: &mut Value) {
        let mut at_ms = 0.0;
        for field in ["first_byte_ms", "first_event_ms", "ttft_ms", "ttfv_ms", "e2e_ms", "close_ms"] {
            at_ms += self.duration();
            // Those on the edge of a target are within it.
            if field == "ttfv_ms" && self.below(12) == 0 {
                at_ms = f64::max(at_ms, self.one(&[1_500.0, 2_000.0, 5_000.0]));
            }
            if self.below(8) > 0 {
                report[field] = json!(at_ms);
            }
        }
        // Without what was in them.
        if report["ttft_ms"].is_null() && self.below(4) == 0 {
            report["observed"] = json!("chunks");
            report["chunks"] = json!(self.below(2));
        }
        if report["ttfv_ms"].is_number() && self.below(3) == 0 {
            report["ttfp_ms"] = json!(at_ms + self.duration());
        }
    }

    fn add_counts(&mut self, report: &mut Value) {
        for (field, most) in [("input_tokens", 90_000), ("output_tokens", 300)] {
            if self.below(4) > 0 {
                report[field] = json!(self.below(most));
            }
        }
        if let Some(input) = report["input_tokens"].as_u64().filter(|_| self.below(3) > 0) {
            // Those on the edge of a class, too.
            let parts = [0, input.div_ceil(100), input / 2, (4 * input).div_ceil(5), input];
            report["cached_tokens"] = json!(self.one(&parts));
        }
        if self.below(3) == 0 {
            report["reasoning_tokens"] = json!(self.below(3));
        }
        if self.below(2) == 0 {
            report["tpot_ms"] = json!(if self.below(9) == 0 { 80.0 } else { self.duration() / 9.0 });
        }
        if self.below(3) > 0 {
            let counts: Vec<_> = (0..1 + self.below(40)).map(|_| self.below(4)).collect();
            let zero = self.below(4);
            let sum: u64 = counts.iter().sum();
            report["chunks"] = json!(sum + zero + 1);
            let offset = self.below(300);
            report["gaps"] = json!({ "scale": 5, "zero": zero, "offset": offset, "counts": counts, "sum": 40.0 * sum as f64 });
        }
        let mut defects = Map::new();
        for defect in DEFECTS {
            if self.below(30) == 0 {
                defects.insert((*defect).to_owned(), json!(1 + self.below(3)));
            }
        }
        report["defects"] = Value::Object(defects);
        if self.below(3) == 0 {
            let source =
                self.one(&["comment", "llama_cpp", "vllm", "ollama", "lobe_chat", "ag_ui", "unheard_of"]);
            report["server"] = json!({ "source": source });
            for field in ["ttft_ms", "generation_ms", "queue_ms"] {
                if self.below(4) > 0 {
                    report["server"][field] = json!(self.duration());
                }
            }
        }
    }

    /// Now and then nothing, mostly tens to thousands of milliseconds, to a tenth.
    fn duration(&mut self) -> f64 {
        match self.below(20) {
            0 => 0.0,
            1 => self.below(400_000) as f64 / 10.0,
            _ => (10f64.powf(self.below(3_000) as f64 / 1_000.0) * 10.0).round() / 10.0,
        }
    }

    fn one<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn below(&mut self, end: u64) -> u64 {
        // Xorshift: what is made up needs to be the same every time, and no more.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % end
    }
}

const OUTCOMES: [&str; 14] = [
    "complete",
    "complete",
    "complete",
    "complete",
    "complete",
    "truncated",
    "provider_error",
    "http_error",
    "network_error",
    "timeout",
    "empty",
    "aborted",
    "abandoned",
    "unobserved",
];

const DEFECTS: &[&str] = &[
    "no_sentinel",
    "sentinel_only",
    "malformed",
    "invalid_utf8",
    "sequence_gap",
    "duplicate",
    "reordered",
    "spliced",
    "html_in_stream",
    "oversize",
    "pending_at_eof",
    "late_close",
    "stall",
    "dead_air",
    "buffered",
    "coarse",
    "replay",
    "usage_mismatch",
    "hidden_reasoning",
];

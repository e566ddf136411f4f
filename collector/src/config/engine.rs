//! Inference engines whose metrics the collector reads.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::notify::NotifyMistake;

/// One engine whose metrics are read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Address of its metrics as Prometheus text, such as `http://gpu-1:8000/metrics`.
    pub url: String,
    /// Whose metric names are looked for. Default `auto`: the first kind of which any name is found.
    #[serde(default)]
    pub kind: EngineKind,
    /// Seconds between two scrapes. Default 10.
    #[serde(default = "ten")]
    pub every_seconds: u32,
    /// Names under which its models are shown, by the engine's name. Use the names that streams have. Default the
    /// engine's names.
    #[serde(default)]
    pub models: BTreeMap<String, String>,
    /// Model of metrics that name none, such as those of llama.cpp. Default none: such metrics are not read.
    #[serde(default)]
    pub model: Option<String>,
    /// Site whose readers see it. Default all.
    #[serde(default)]
    pub site: Option<String>,
}

/// Product of an engine, or of a gateway in front.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Found by the metrics.
    #[default]
    Auto,
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// The server of llama.cpp.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// TensorRT-LLM.
    Trtllm,
    /// The frontend of NVIDIA Dynamo.
    Dynamo,
    /// The LiteLLM proxy.
    Litellm,
}

impl Engine {
    /// Host and port of the address, and the path if it is not the usual one.
    pub(crate) fn name(&self) -> String {
        let Ok(uri) = self.url.parse::<Uri>() else { return String::new() };
        let path = uri.path_and_query().map_or("", |path| path.as_str());
        let path = if path == "/metrics" { "" } else { path };
        format!("{}{path}", uri.authority().map_or("", |authority| authority.as_str()))
    }

    /// All mistakes, except duplicates of other engines.
    pub(super) fn mistakes(&self, sites: &BTreeSet<&str>) -> Vec<NotifyMistake> {
        let mut found = Vec::new();
        let is_http = |uri: Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
        if self.url.contains(['@', '#']) || !self.url.parse().is_ok_and(is_http) {
            let remedy = "write it as `http://gpu-1:8000/metrics`, without a password";
            found.push(("url", "is not a valid address".to_owned(), remedy));
        }
        if !(1..=LONGEST_SECONDS).contains(&self.every_seconds) {
            found.push((
                "every_seconds",
                "is 0 or more than 60 seconds".to_owned(),
                "write 1 to 60, or remove it",
            ));
        }
        let is_name = |name: &String| !name.is_empty() && name.len() <= LONGEST_MODEL;
        if !self.models.values().chain(&self.model).all(is_name) {
            let field = if self.model.as_ref().is_none_or(is_name) { "models" } else { "model" };
            found.push((
                field,
                "has a name that is empty or over 128 bytes".to_owned(),
                "write the name of a model",
            ));
        }
        if let Some(unknown) = self.site.as_deref().filter(|site| !sites.contains(site)) {
            let problem = format!("is `{unknown}`, which is the name of no site");
            found.push(("site", problem, "write a name of `[[sites]]`, or remove it for all"));
        }
        found
    }
}

const fn ten() -> u32 {
    10
}

/// Each minute needs a scrape.
const LONGEST_SECONDS: u32 = 60;

/// In bytes.
pub(crate) const LONGEST_MODEL: usize = 128;

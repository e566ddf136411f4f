//! Names of the metrics of each engine, the present one first. Earlier names follow: engines rename metrics often.

use super::figures::Figure;
use crate::config::engine::EngineKind;

/// Metric names of one kind of engine.
pub(super) struct EngineNames {
    pub(super) kind: EngineKind,
    /// Label with the model. `None` if its metrics name no model.
    pub(super) model_label: Option<&'static str>,
    names: &'static [(Figure, &'static [&'static str])],
}

impl EngineNames {
    /// Names of a figure; the first that is found is used. Empty if the engine has no such metric.
    pub(super) fn of(&self, figure: Figure) -> &'static [&'static str] {
        self.names.iter().find(|(known, _)| *known == figure).map_or(&[], |(_, names)| *names)
    }

    /// The figure that a metric gives, and the place of its name among those of the figure.
    pub(super) fn find(&self, name: &str) -> Option<(Figure, usize)> {
        self.names
            .iter()
            .find_map(|(figure, names)| Some((*figure, names.iter().position(|known| *known == name)?)))
    }
}

/// Gateways stand last: an engine behind one says more.
pub(super) const ENGINES: [EngineNames; 6] = [
    EngineNames {
        kind: EngineKind::Vllm,
        model_label: Some("model_name"),
        names: &[
            (Figure::Waiting, &["vllm:num_requests_waiting"]),
            (Figure::Running, &["vllm:num_requests_running"]),
            // Renamed in 0.9.
            (Figure::KvUsage, &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
            (Figure::Preemptions, &["vllm:num_preemptions_total"]),
            (Figure::CacheHits, &["vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"]),
            (
                Figure::CacheQueries,
                &["vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"],
            ),
            (Figure::Drafted, &["vllm:spec_decode_num_draft_tokens_total"]),
            (Figure::Accepted, &["vllm:spec_decode_num_accepted_tokens_total"]),
        ],
    },
    EngineNames {
        kind: EngineKind::Sglang,
        model_label: Some("model_name"),
        names: &[
            (Figure::Waiting, &["sglang:num_queue_reqs"]),
            (Figure::Running, &["sglang:num_running_reqs"]),
            (Figure::KvUsage, &["sglang:token_usage"]),
            (Figure::Preemptions, &["sglang:num_retracted_requests_total"]),
            (Figure::CacheHits, &["sglang:cached_tokens_total"]),
        ],
    },
    EngineNames {
        kind: EngineKind::LlamaCpp,
        model_label: None,
        names: &[
            (Figure::Waiting, &["llamacpp:requests_deferred"]),
            (Figure::Running, &["llamacpp:requests_processing"]),
            // Removed in later versions.
            (Figure::KvUsage, &["llamacpp:kv_cache_usage_ratio"]),
            (Figure::CacheHits, &["llamacpp:prompt_tokens_cached_total"]),
            (Figure::Drafted, &["llamacpp:spec_decode_num_draft_tokens_total"]),
            (Figure::Accepted, &["llamacpp:spec_decode_num_accepted_tokens_total"]),
        ],
    },
    EngineNames {
        kind: EngineKind::Trtllm,
        model_label: Some("model_name"),
        names: &[
            (Figure::Waiting, &["trtllm_num_requests_waiting"]),
            (Figure::Running, &["trtllm_num_requests_running"]),
            (Figure::KvUsage, &["trtllm_kv_cache_utilization"]),
        ],
    },
    EngineNames {
        kind: EngineKind::Dynamo,
        model_label: Some("model"),
        names: &[
            // `dynamo_frontend_queued_requests` counts requests under prefill too, so it is no queue.
            (Figure::Waiting, &["dynamo_frontend_router_queue_pending_requests"]),
            (Figure::Running, &["dynamo_frontend_inflight_requests", "dynamo_frontend_active_requests"]),
        ],
    },
    EngineNames {
        kind: EngineKind::Litellm,
        model_label: Some("model"),
        names: &[(Figure::Running, &["litellm_in_flight_requests"])],
    },
];

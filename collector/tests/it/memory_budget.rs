//! Refusals over the memory budget.

use std::alloc::{GlobalAlloc, Layout, System};

use collector::CountingAllocator;

use crate::harness::{TestCollector, stream};

/// Memory that is reserved and never touched: the budget counts it, and the machine need not have it.
struct Reserved {
    block: *mut u8,
    layout: Layout,
}

impl Reserved {
    fn bytes(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes, 16).unwrap();
        // SAFETY: the layout has a size.
        let block = unsafe { CountingAllocator(System).alloc(layout) };
        assert!(!block.is_null());
        Self { block, layout }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // SAFETY: the block is of this allocator and layout.
        unsafe { CountingAllocator(System).dealloc(self.block, self.layout) };
    }
}

#[tokio::test]
async fn beacons_and_queries_over_the_budget_are_refused() {
    let memory_bytes = 192 << 20;
    let collector = TestCollector::with(|config| config.memory_bytes = Some(memory_bytes));
    collector.report(&[stream(1, 100.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 1).await;

    let reserved = Reserved::bytes(100 << 20);
    let answer = collector.post(serde_json::json!({ "reports": [stream(2, 100.0)] }).to_string()).await;
    answer.refused(503, "memory_limited");
    assert_eq!(answer.headers["retry-after"], "5");
    for path in ["/v1/summary", "/metrics"] {
        let answer = collector.get(path).await;
        answer.refused(503, "memory_limited");
        assert_eq!(answer.headers["retry-after"], "5");
    }
    let ready = collector.json("/readyz").await;
    assert_eq!((&ready["ready"], &ready["memory"]["budget_bytes"]), (&true.into(), &memory_bytes.into()));
    assert!(ready["memory"]["used_bytes"].as_u64() >= Some(100 << 20), "{ready}");

    drop(reserved);
    collector.report(&[stream(3, 100.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 2).await;
    collector.until_metric("llm_rum_beacons_total{result=\"memory_limited\"}", 1.0).await;
    collector.until_metric("llm_rum_memory_refused_requests_total", 2.0).await;
}

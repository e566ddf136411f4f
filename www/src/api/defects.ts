/** Meaning of each defect. Definitions: `docs/outcomes.md`. */

interface DefectMeaning {
  meaning: string;
  /** The stream lost content and is not intact. */
  losesContent?: true;
}

export const DEFECT_MEANINGS: Record<string, DefectMeaning> = {
  no_sentinel: { meaning: "finish reason without an end marker" },
  sentinel_only: { meaning: "end marker without a finish reason" },
  malformed: { meaning: "event is neither JSON nor a known marker", losesContent: true },
  invalid_utf8: { meaning: "invalid UTF-8", losesContent: true },
  sequence_gap: { meaning: "missing events (gap in sequence numbers)", losesContent: true },
  duplicate: { meaning: "numbered event received twice" },
  reordered: { meaning: "numbered event received after a later one" },
  spliced: { meaning: "second response inside the first", losesContent: true },
  html_in_stream: { meaning: "web page in place of the response", losesContent: true },
  oversize: { meaning: "event over 1 MiB, not parsed", losesContent: true },
  pending_at_eof: { meaning: "stream ended inside an event" },
  late_close: { meaning: "connection still open more than 1 s after the end marker" },
  stall: { meaning: "pause over 2 s and 8 times the usual inter-chunk latency" },
  dead_air: { meaning: "over 15 s without data" },
  buffered: { meaning: "buffered by a proxy, delivered in one burst" },
  coarse: { meaning: "many tokens in each event" },
  replay: { meaning: "response restarted from its beginning" },
  usage_mismatch: { meaning: "contradictory token counts from the provider" },
  hidden_reasoning: { meaning: "reasoning billed but not streamed" },
};

export const DEFECTS: readonly string[] = Object.keys(DEFECT_MEANINGS);

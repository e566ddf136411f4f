/** Meaning of each defect. Definitions: `docs/metrics.md`. */

interface DefectMeaning {
  meaning: string;
  /** The stream lost content and is not intact. */
  losesContent?: true;
}

export const DEFECT_MEANINGS: Record<string, DefectMeaning> = {
  no_sentinel: { meaning: "a finish reason, but no end marker" },
  sentinel_only: { meaning: "an end marker, but no finish reason" },
  malformed: { meaning: "an event that is neither JSON nor a known marker", losesContent: true },
  invalid_utf8: { meaning: "bytes that are no text", losesContent: true },
  sequence_gap: { meaning: "numbered events with a hole", losesContent: true },
  duplicate: { meaning: "a numbered event came twice" },
  reordered: { meaning: "a numbered event came after a later one" },
  spliced: { meaning: "a second answer began inside the first", losesContent: true },
  html_in_stream: { meaning: "a web page came in place of the answer", losesContent: true },
  oversize: { meaning: "an event over 1 MiB, not read", losesContent: true },
  pending_at_eof: { meaning: "the stream ended inside an event" },
  late_close: { meaning: "open over 1 s after the end marker" },
  stall: { meaning: "a silence over 2 s and 8 times the usual gap" },
  dead_air: { meaning: "over 15 s without a byte" },
  buffered: { meaning: "held back on the way and handed over at once" },
  coarse: { meaning: "the provider bundles many tokens into each event" },
  replay: { meaning: "the answer began again from its start" },
  usage_mismatch: { meaning: "the provider's token counts contradict each other" },
  hidden_reasoning: { meaning: "reasoning was billed, but not streamed" },
};

// A line for the console about a stream that ended.

/** What the report says, for a developer who reads along. */
export function describeStream({ outcome, dialect, use_case: useCase, model, observed, deltas, status, ...times }) {
  const { ttft_ms: ttft, ttfv_ms: visible, e2e_ms: end, longest_gap_ms: gap, output_tokens: tokens, defects } = times;
  const facts = [
    outcome,
    status >= 400 && `status ${status}`,
    [dialect ?? "no known format", model].filter((word) => word).join(" "),
    useCase,
    duration("first token", ttft),
    visible !== ttft && duration("first visible text", visible),
    duration("end", end),
    duration("longest gap", gap),
    deltas !== undefined && `${deltas} deltas`,
    tokens !== undefined && `${tokens} tokens`,
    observed == "chunks" && "only chunks were seen",
    defects && `defects: ${Object.keys(defects).join(", ")}`,
  ];
  return facts.filter((fact) => fact).join(" · ");
}

const duration = (name, ms) => ms !== undefined && `${name} ${Math.round(ms)} ms`;

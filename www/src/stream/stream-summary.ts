/** Summary of one stream in a few sentences. */
import type { StreamReport } from "../api/api-types";
import { count, duration, isKnown } from "../format";
import { OUTCOME_STYLES } from "../ui/outcome";

export function streamSummary(report: StreamReport): string {
  const { ttfv_ms: visible, ttft_ms: token, server, e2e_ms: end, longest_gap_ms: gap } = report;
  const parts: string[] = [];
  if (isKnown(visible)) parts.push(`The user waited ${duration(visible)} for the first visible token.`);
  else if (isKnown(token)) parts.push(`First token after ${duration(token)}, but no visible text.`);
  else if (isContentHidden(report)) parts.push("The probe could read chunks only, no tokens.");
  else parts.push(report.open ? "No token has arrived yet." : "No token arrived.");
  if (isKnown(token) && isKnown(server?.ttft_ms)) {
    const overhead = token - server.ttft_ms;
    parts.push(`Server TTFT: ${duration(server.ttft_ms)}, network overhead: ${duration(overhead)}.`);
  }
  if (isKnown(end) && isKnown(token)) {
    const amount = isKnown(report.output_tokens)
      ? `${count(report.output_tokens)} tokens`
      : `${count(report.deltas)} deltas`;
    const longest = isKnown(gap) ? `, longest inter-chunk latency ${duration(gap)}` : "";
    parts.push(`${amount} in ${duration(end - token)}${longest}.`);
  }
  if (!report.open && report.outcome !== "complete") {
    const { label, meaning } = OUTCOME_STYLES[report.outcome];
    parts.push(`Outcome: ${label} (${meaning}).`);
  }
  return parts.join(" ");
}

/** Why no inter-chunk latency is drawn. */
export function missingGapsReason(report: StreamReport): string {
  if (isContentHidden(report)) return "The probe could not see which chunks carried text.";
  const { ttft_ms: first, e2e_ms: last, longest_gap_ms: longest, open } = report;
  // Text at two times came in two reads. Imported and older reports can lack the histogram.
  if (isKnown(longest) || (isKnown(first) && isKnown(last) && last > first))
    return "This report has no histogram of the inter-chunk latency.";
  return open ? "Fewer than two chunks have carried text so far." : "Fewer than two chunks carried text.";
}

/** Whether the probe saw the chunks but not their content, as on a page that forbids WebAssembly. */
export function isContentHidden({ observed }: Pick<StreamReport, "observed">): boolean {
  return observed === "chunks";
}

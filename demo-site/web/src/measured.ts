// The panel below a response: the probe's report beside the server's log entry.
import { el } from "./dom";
import type { Report } from "./probe";

/** The fields of a log entry that the panel shows. */
export interface LogEntry {
  first_token_ms?: number;
  end?: "complete" | "cut" | "client_closed";
  end_ms?: number;
}

/** A short explanation of each outcome. */
const MEANING: Record<string, string> = {
  complete: "arrived intact",
  truncated: "ended without its end marker",
  provider_error: "the provider reported an error in the stream",
  http_error: "the server responded with an error status",
  network_error: "the connection broke",
  timeout: "timed out",
  empty: "the response had no content",
  aborted: "the app stopped the stream",
  abandoned: "the user left the page",
  unobserved: "only bytes were counted: this page forbids WebAssembly",
};

const SERVER_END: Record<string, string> = {
  complete: "ended the response",
  cut: "dropped the connection",
  client_closed: "saw this page close the connection",
};

export function measuredPanel(report: Report, collector: string): HTMLElement {
  const panel = el("aside", { className: "measured" });
  const badge = el("strong", { className: "outcome", textContent: title(report.outcome) });
  badge.dataset.outcome = report.outcome;
  const link = el("a", {
    href: `${collector}/?stream=${encodeURIComponent(report.id)}`,
    target: "_blank",
    rel: "noopener",
    textContent: "Open in the dashboard",
  });
  panel.append(el("p", { className: "verdict" }, badge, ` ${MEANING[report.outcome] ?? ""}`, link));
  const line = timeline(report);
  if (line) panel.append(line);
  panel.append(figures(report), defects(report));
  return panel;
}

/** A line of the panel with the server's log entry of the same stream. */
export function serverLine(entry: LogEntry, report: Report | undefined): HTMLElement {
  const sent = entry.first_token_ms;
  const parts = [entry.end ? `${SERVER_END[entry.end]} after ${ms(entry.end_ms)}` : undefined];
  if (sent !== undefined) parts.unshift(`wrote the first token at ${ms(sent)}`);
  if (sent !== undefined && report?.ttft_ms !== undefined) {
    parts.push(`the probe differs by ${(report.ttft_ms - sent).toFixed(1)} ms`);
  }
  const words = parts.filter(Boolean).join(" · ");
  return el("p", { className: "server" }, el("span", { textContent: "Server's log" }), ` ${words}`);
}

function figures(report: Report): HTMLElement {
  const list = el("dl");
  const add = (name: string, value: string | undefined) => {
    if (value) list.append(el("div", {}, el("dt", { textContent: name }), el("dd", { textContent: value })));
  };
  if (report.observed === "chunks") {
    add("First byte", report.first_byte_ms === undefined ? "none" : ms(report.first_byte_ms));
    add("Reads", String(report.chunks));
    return list;
  }
  add("First token", report.ttft_ms === undefined ? "none" : ms(report.ttft_ms));
  add("Longest inter-chunk gap", report.longest_gap_ms === undefined ? undefined : ms(report.longest_gap_ms));
  add("Last token", report.e2e_ms === undefined ? undefined : ms(report.e2e_ms));
  add("Per token", report.tpot_ms === undefined ? undefined : ms(report.tpot_ms));
  add("Deltas / reads", `${report.deltas} / ${report.chunks}`);
  add("Server TTFT", report.server?.ttft_ms === undefined ? undefined : ms(report.server.ttft_ms));
  add("Status", report.status && report.status !== 200 ? String(report.status) : undefined);
  return list;
}

function defects(report: Report): string | HTMLElement {
  const names = Object.entries(report.defects ?? {});
  if (names.length === 0) return "";
  const words = names.map(([name, count]) => name.replaceAll("_", " ") + (count > 1 ? ` ×${count}` : ""));
  return el("p", { className: "defects", textContent: `Defects: ${words.join(", ")}` });
}

/** A bar with the wait, the text and the silence before the end. `undefined` if the end is not known. */
function timeline(report: Report): HTMLElement | undefined {
  const end = report.close_ms ?? report.e2e_ms;
  if (!end) return undefined;
  const bar = el("div", { className: "timeline" });
  bar.setAttribute("role", "img");
  // If the probe saw only chunks, it does not know which bytes were text. All of them are drawn as text.
  const seen = report.observed === "chunks" ? report.first_byte_ms : report.ttft_ms;
  const first = seen ?? end;
  bar.setAttribute("aria-label", `waiting until ${ms(first)}, ended at ${ms(end)}`);
  const span = (className: string, from: number, to: number) => {
    const part = el("i", { className });
    part.style.insetInlineStart = `${(100 * from) / end}%`;
    part.style.inlineSize = `${(100 * Math.max(0, to - from)) / end}%`;
    bar.append(part);
  };
  span("waiting", 0, first);
  if (seen !== undefined) span("text", first, Math.max(report.e2e_ms ?? end, first + end / 100));
  if (report.headers_ms !== undefined) span("headers", report.headers_ms, report.headers_ms);
  return bar;
}

/** `http_error` as `HTTP error`. */
function title(outcome: string): string {
  const words = outcome.replace("_", " ").replace("http", "HTTP");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function ms(value: number | undefined): string {
  if (value === undefined) return "–";
  return value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${value.toFixed(1)} ms`;
}

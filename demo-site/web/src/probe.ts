// The probe as the page sees it: a script tag that may or may not have made `window.llmRum`; its reports go
// out to whoever listens. The page works the same when it never loads.

/** The fields of a stream's report that the page shows. Durations are milliseconds since the request. */
export interface Report {
  id: string;
  response_id?: string;
  dialect?: string;
  outcome: string;
  observed?: "chunks" | "arrival";
  status?: number;
  headers_ms?: number;
  first_byte_ms?: number;
  ttft_ms?: number;
  e2e_ms?: number;
  close_ms?: number;
  tpot_ms?: number;
  longest_gap_ms?: number;
  chunks: number;
  deltas: number;
  output_tokens?: number;
  defects?: Record<string, number>;
  server?: { source: string; ttft_ms?: number };
}

interface Probe {
  /** How often the probe itself went wrong. */
  readonly faults: number;
  onStreamEnd(callback: (report: Report) => void): void;
}

declare global {
  interface Window {
    llmRum?: { probe?: Probe };
  }
}

/** `refused` and `lost` while it watches: its reports are answered with an error, or with nothing that can be read. */
export type ProbeState = "on" | "off" | "failed" | "refused" | "lost" | "faulty";

/**
 * Hands every ended stream's report to `onReport`, and tells what became of the probe; of a report the
 * collector took it tells `onTaken`, and so it does where the browser does not say what became of reports.
 */
export function watchProbe(
  onReport: (report: Report) => void,
  onState: (state: ProbeState) => void,
  onTaken: () => void,
): void {
  const tag = document.querySelector<HTMLScriptElement>('script[src$="/llm-rum.js"]');
  const attach = () => {
    const probe = window.llmRum?.probe;
    if (!probe) return onState("failed");
    probe.onStreamEnd((report) => {
      if (probe.faults > 0) onState("faulty");
      onReport(report);
    });
    onState("on");
    watchBeacons((status) => {
      if (status >= 200 && status < 300) onTaken();
      if (probe.faults === 0) onState(status === 0 ? "lost" : status < 300 ? "on" : "refused");
    }, onTaken);
  };
  if (!tag) onState("off");
  else if (window.llmRum) attach();
  else {
    tag.addEventListener("load", attach);
    tag.addEventListener("error", () => onState("failed"));
    // It may have failed before this script ran, and then neither event comes.
    window.addEventListener("load", () => {
      if (!window.llmRum) onState("failed");
    });
  }
}

/** Tells the status that each beacon is answered with; 0 where nothing came, or nothing that this page may read. */
function watchBeacons(onStatus: (status: number) => void, onUnknown: () => void): void {
  if (!("responseStatus" in PerformanceResourceTiming.prototype)) return onUnknown();
  new PerformanceObserver((seen) => {
    for (const entry of seen.getEntriesByType("resource") as PerformanceResourceTiming[]) {
      // Of what goes out as the page is left nobody may read the answer.
      const isBeacon = entry.initiatorType === "fetch" && new URL(entry.name).pathname.endsWith("/v1/beacons");
      if (isBeacon) onStatus(entry.responseStatus);
    }
  }).observe({ type: "resource", buffered: true });
}

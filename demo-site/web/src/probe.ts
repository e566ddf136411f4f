// Connects the page to the probe, and shows whether its beacons arrive. The page works the same without a probe.

/** The fields of a stream report that the page shows. Times are milliseconds since the request. */
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
  /** Number of errors in the probe's own code. */
  readonly faults: number;
  onStreamEnd(callback: (report: Report) => void): void;
}

declare global {
  interface Window {
    llmRum?: { probe?: Probe };
  }
}

/** `refused`: the collector responds to beacons with an error. `lost`: no readable response arrives. */
export type ProbeState = "on" | "off" | "failed" | "refused" | "lost" | "faulty";

/**
 * Calls `onReport` with the report of each ended stream, and `onState` when the probe's state changes. `onAccepted`
 * runs when the collector has accepted a beacon, or at once if the browser does not expose the status of requests.
 */
export function watchProbe(
  onReport: (report: Report) => void,
  onState: (state: ProbeState) => void,
  onAccepted: () => void,
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
      if (status >= 200 && status < 300) onAccepted();
      if (probe.faults === 0) onState(status === 0 ? "lost" : status < 300 ? "on" : "refused");
    }, onAccepted);
  };
  if (!tag) onState("off");
  else if (window.llmRum) attach();
  else {
    tag.addEventListener("load", attach);
    tag.addEventListener("error", () => onState("failed"));
    // If the probe failed before this script ran, neither event fires.
    window.addEventListener("load", () => {
      if (!window.llmRum) onState("failed");
    });
  }
}

/** Calls `onStatus` with the status of each beacon's response. 0: no response, or one that the page may not read. */
function watchBeacons(onStatus: (status: number) => void, onUnknown: () => void): void {
  if (!("responseStatus" in PerformanceResourceTiming.prototype)) return onUnknown();
  new PerformanceObserver((seen) => {
    for (const entry of seen.getEntriesByType("resource") as PerformanceResourceTiming[]) {
      // Only `fetch` exposes the status. `sendBeacon`, used when the page is left, does not.
      const isBeacon = entry.initiatorType === "fetch" && new URL(entry.name).pathname.endsWith("/v1/beacons");
      if (isBeacon) onStatus(entry.responseStatus);
    }
  }).observe({ type: "resource", buffered: true });
}

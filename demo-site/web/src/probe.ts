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
  onStreamEnd(callback: (report: Report) => void): void;
}

declare global {
  interface Window {
    llmRum?: { probe?: Probe };
  }
}

export type ProbeState = "on" | "off" | "failed";

/** Hands every ended stream's report to `onReport`, and tells what became of the probe. */
export function watchProbe(onReport: (report: Report) => void, onState: (state: ProbeState) => void): void {
  const tag = document.querySelector<HTMLScriptElement>('script[src$="/llm-rum.js"]');
  const attach = () => {
    const probe = window.llmRum?.probe;
    if (!probe) return onState("failed");
    probe.onStreamEnd(onReport);
    onState("on");
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

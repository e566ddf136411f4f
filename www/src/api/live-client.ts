/** Client of `/v1/live`: keeps one connection open and reconnects with a growing delay. */
import type { Filters, Live } from "./api-types";
import { openLive, type RequestOptions } from "./client";
import { backoff, EventStreamParser } from "./events";

/** Receives each update, and `null` when the connection is lost. */
export type OnLive = (now: Live | null) => void;

/** The collector sends an event or a comment at least every 15 s. */
const IDLE_TIMEOUT_MS = 40_000;

/** Listens until `options.signal` is aborted. */
export async function listen(filters: Filters, options: Required<RequestOptions>, onLive: OnLive): Promise<void> {
  const { signal } = options;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      await readUpdates(filters, options, (now) => {
        attempt = 0;
        onLive(now);
      });
    } catch {
      // The banner reports the cause, because the feed asks the same collector.
    }
    if (signal.aborted) return;
    onLive(null);
    await sleep(backoff(attempt, Math.random()), signal);
  }
}

/** Returns when the collector closes the stream, as it does on a restart. */
async function readUpdates(filters: Filters, options: Required<RequestOptions>, onLive: OnLive): Promise<void> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  options.signal.addEventListener("abort", stop);
  let idle = setTimeout(stop, IDLE_TIMEOUT_MS);
  try {
    const body = await openLive(filters, { ...options, signal: controller.signal });
    const [reader, parser] = [body.pipeThrough(new TextDecoderStream()).getReader(), new EventStreamParser()];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(idle);
      idle = setTimeout(stop, IDLE_TIMEOUT_MS);
      for (const { name, data } of parser.parse(value)) {
        if (controller.signal.aborted) return;
        onLive(name === "message" ? (JSON.parse(data) as Live) : null);
      }
    }
  } finally {
    clearTimeout(idle);
    options.signal.removeEventListener("abort", stop);
    stop();
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

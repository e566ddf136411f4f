/** Client of `/v1/live`: keeps one connection open and reconnects with a growing delay. */
import type { Filters, Live } from "./api-types";
import { openLive, type Access } from "./client";
import { backoff, EventReader } from "./events";

/** Receives each update, and `null` when the connection is lost. */
export type OnLive = (now: Live | null) => void;

/** The collector sends an event or a comment at least every 15 s. */
const IDLE_TIMEOUT_MS = 40_000;

/** Listens until `access.signal` is aborted. */
export async function listen(filters: Filters, access: Required<Access>, onLive: OnLive): Promise<void> {
  const { signal } = access;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      await readUpdates(filters, access, (now) => {
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
async function readUpdates(filters: Filters, access: Required<Access>, onLive: OnLive): Promise<void> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  access.signal.addEventListener("abort", stop);
  let idle = setTimeout(stop, IDLE_TIMEOUT_MS);
  try {
    const body = await openLive(filters, { ...access, signal: controller.signal });
    const [reader, events] = [body.pipeThrough(new TextDecoderStream()).getReader(), new EventReader()];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(idle);
      idle = setTimeout(stop, IDLE_TIMEOUT_MS);
      for (const { name, data } of events.read(value)) {
        if (controller.signal.aborted) return;
        onLive(name === "message" ? (JSON.parse(data) as Live) : null);
      }
    }
  } finally {
    clearTimeout(idle);
    access.signal.removeEventListener("abort", stop);
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

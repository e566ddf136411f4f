/** Listens to what happens now while the page is looked at, and puts it into `state.ts`. */
import { computed, effect, signal } from "@preact/signals";

import type { Live } from "./api-types";
import { openLive, type Access } from "./client";
import { backoff, EventReader } from "./events";
import { link, live, paused, token, view } from "../state";

/** The collector says something every 15 s at the latest. */
const SILENCE_MS = 40_000;

export function startListening(): void {
  const hidden = signal(document.hidden);
  document.addEventListener("visibilitychange", () => {
    hidden.value = document.hidden;
  });
  const filters = computed(() => JSON.stringify(view.value.filters));
  // A browser has few connections for one collector: none for a page that nobody looks at.
  const isWanted = computed(
    () => !hidden.value && !paused.value && link.value.kind !== "loading" && link.value.kind !== "locked",
  );
  effect(() => {
    if (!isWanted.value) {
      live.value = { kind: paused.value ? "paused" : "joining" };
      return;
    }
    const mine = new AbortController();
    live.value = { kind: "joining" };
    const asked = JSON.parse(filters.value) as Record<string, string>;
    void listenOn(asked, { token: token.value, signal: mine.signal });
    return () => mine.abort();
  });
}

/** Listens, and when that ends listens again, until it is told to stop. */
async function listenOn(filters: Record<string, string>, access: Required<Access>): Promise<void> {
  const { signal } = access;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      await listen(filters, access, () => {
        attempt = 0;
      });
    } catch {
      // Whatever it was, it is not live now; the rest of the screen says what is wrong with the collector.
    }
    if (signal.aborted) return;
    live.value = { kind: "away" };
    await pause(backoff(attempt, Math.random()), signal);
  }
}

/** Returns at the end of the stream, which is no reason to stop listening: a collector that restarts ends it. */
async function listen(filters: Record<string, string>, access: Required<Access>, onEvent: () => void): Promise<void> {
  const mine = new AbortController();
  const stop = () => mine.abort();
  access.signal.addEventListener("abort", stop);
  let silence = setTimeout(stop, SILENCE_MS);
  try {
    const body = await openLive(filters, { ...access, signal: mine.signal });
    const [reader, events] = [body.pipeThrough(new TextDecoderStream()).getReader(), new EventReader()];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(stop, SILENCE_MS);
      for (const { name, data } of events.read(value)) {
        if (mine.signal.aborted) return;
        live.value = name === "message" ? { kind: "live", now: JSON.parse(data) as Live } : { kind: "away" };
        onEvent();
      }
    }
  } finally {
    clearTimeout(silence);
    access.signal.removeEventListener("abort", stop);
    stop();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

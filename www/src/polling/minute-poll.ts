/** Loads some answers now and once a minute. A failure leaves the rest of the screen as it is. */
import { toResult, type AsyncResult } from "../api/async-result";
import type { RequestOptions } from "../api/client";
import { connection, paused } from "../state";

const MINUTE_MS = 60_000;

/** Requests an answer. The function that it gives back puts the answer on the screen. */
type Load = (options: RequestOptions) => Promise<() => void>;

/** `shown` is the signal that the answer goes to. */
export function loading<Answer>(
  shown: { value: AsyncResult<Answer> },
  request: (options: RequestOptions) => Promise<Answer>,
): Load {
  return async (options) => {
    const result = await toResult(request(options));
    return () => (shown.value = result);
  };
}

/** Returns a function that loads all now. It drops what an earlier call has not loaded yet. */
export function minutePoll(loads: readonly Load[]): () => void {
  let current: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const poll = async () => {
    clearTimeout(timer);
    current?.abort();
    const controller = new AbortController();
    current = controller;
    const loaded = await Promise.all(loads.map((load) => load(controller)));
    if (controller.signal.aborted) return;
    loaded.forEach((show) => show());
    timer = setTimeout(pollAgain, MINUTE_MS);
  };
  const pollAgain = () => {
    if (!document.hidden && !paused.peek() && connection.peek().kind === "open") void poll();
    else timer = setTimeout(pollAgain, MINUTE_MS);
  };
  return () => void poll();
}

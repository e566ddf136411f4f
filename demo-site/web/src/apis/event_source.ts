// A chat over EventSource. It closes at the end marker, because otherwise the browser would reconnect.
import type { LlmResponse, Question } from "./types";
import { END_MARKER, Queue } from "./texts";

export async function eventSource({ base, model }: Question): Promise<LlmResponse> {
  const source = new EventSource(`${base}/events?model=${encodeURIComponent(model)}`);
  const queue = new Queue();
  const stop = (error?: unknown) => {
    source.close();
    queue.end(error);
  };
  source.onmessage = ({ data }: MessageEvent<string>) => {
    queue.put(data);
    if (data === END_MARKER) stop();
  };
  source.onerror = () => stop(new Error("the connection broke"));
  return { texts: closeAtEnd(queue, stop), stop, seq: null };
}

/** Closes the source when the reader stops early, because otherwise the browser would reconnect. */
async function* closeAtEnd(queue: Queue, stop: () => void) {
  try {
    yield* queue.all();
  } finally {
    stop();
  }
}

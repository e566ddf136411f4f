// A chat over EventSource, closed at the end marker: a browser would ask again otherwise.
import type { Answer, Question } from "./types";
import { END_MARKER, Queue } from "./texts";

export async function eventSource({ base, model }: Question): Promise<Answer> {
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
  return { texts: closing(queue, stop), stop, seq: null };
}

/** An answer that is given up is not asked for again. */
async function* closing(queue: Queue, stop: () => void) {
  try {
    yield* queue.all();
  } finally {
    stop();
  }
}

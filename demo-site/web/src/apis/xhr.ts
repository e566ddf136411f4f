// A chat over XMLHttpRequest, through the `sse.js` package.
import { SSE } from "sse.js";
import { type LlmResponse, type Question, SEQ_HEADER } from "./types";
import { Queue } from "./texts";

export function xhr({ base, model, prompt }: Question): Promise<LlmResponse> {
  const queue = new Queue();
  const source = new SSE(`${base}/v1/chat/completions`, {
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    payload: JSON.stringify({ model, messages: [{ role: "user", content: prompt }], stream: true }),
    start: false,
  });
  return new Promise((resolve, reject) => {
    source.addEventListener("open", ({ headers }: { headers: Record<string, string[]> }) =>
      resolve({ texts: queue.all(), stop: () => source.close(), seq: headers[SEQ_HEADER]?.[0] ?? null }),
    );
    source.addEventListener("message", ({ data }: { data: string }) => queue.put(data));
    source.addEventListener("abort", () => queue.end());
    source.addEventListener("readystatechange", () => source.readyState === SSE.CLOSED && queue.end());
    source.addEventListener("error", ({ responseCode, data }: { responseCode: number; data: string }) => {
      const error = new Error(responseCode >= 400 ? `${responseCode} ${data}` : "the connection broke");
      queue.end(error);
      reject(error);
    });
    source.stream();
  });
}

// `sse.js`, which LibreChat uses: events over `XMLHttpRequest`, watched by the extension `xhr`.
import { SSE } from "sse.js";

export function sseJs(base, prompt, write) {
  const source = new SSE(`${base}/v1/chat/completions`, {
    headers: { "content-type": "application/json" },
    payload: JSON.stringify({ model: "demo-model", messages: [{ role: "user", content: prompt }], stream: true }),
    start: false,
  });
  return new Promise((resolve, reject) => {
    source.onmessage = ({ data }) => {
      if (data !== "[DONE]") return write(JSON.parse(data).choices[0]?.delta?.content ?? "");
      source.close();
      resolve();
    };
    source.onerror = () => reject(new Error("the connection broke"));
    source.stream();
  });
}

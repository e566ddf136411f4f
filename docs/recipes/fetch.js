// Nothing but `fetch` and a reader. A response that is neither server-sent events nor lines of JSON by its
// type is watched when its request says `"stream": true`, or when `isStream` names it.
import { readEvents } from "./read-events.js";

export async function plainFetch(base, prompt, write) {
  const response = await fetch(`${base}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "demo-model", messages: [{ role: "user", content: prompt }], stream: true }),
  });
  await readEvents(response.body, write);
}

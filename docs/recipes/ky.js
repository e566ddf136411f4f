// `ky`, whose timeout must not end a long answer.
import ky from "ky";
import { readEvents } from "./read-events.js";

export async function kyFetch(base, prompt, write) {
  const json = { model: "demo-model", messages: [{ role: "user", content: prompt }], stream: true };
  const response = await ky.post(`${base}/v1/chat/completions`, { json, timeout: false });
  await readEvents(response.body, write);
}

// `axios` with its adapter for `fetch`, as its own for `XMLHttpRequest` gives the text only at the end.
import axios from "axios";
import { readEvents } from "./read-events.js";

export async function axiosFetch(base, prompt, write) {
  const body = { model: "demo-model", messages: [{ role: "user", content: prompt }], stream: true };
  const options = { adapter: "fetch", responseType: "stream" };
  const { data } = await axios.post(`${base}/v1/chat/completions`, body, options);
  await readEvents(data, write);
}

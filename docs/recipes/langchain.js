// LangChain.js with OpenAI's API. Where globals should stay as they are, hand it a watched fetch:
// `configuration: { fetch: probe.wrapFetch(fetch) }`.
import { ChatOpenAI } from "@langchain/openai";

export async function langchain(base, prompt, write) {
  const model = new ChatOpenAI({ model: "demo-model", apiKey: "demo", configuration: { baseURL: `${base}/v1` } });
  for await (const chunk of await model.stream(prompt)) write(chunk.content);
}

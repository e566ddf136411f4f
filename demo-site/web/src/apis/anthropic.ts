// Anthropic Messages through the `@anthropic-ai/sdk` package.
import Anthropic from "@anthropic-ai/sdk";
import { type LlmResponse, type Question, SEQ_HEADER } from "./types";

export async function anthropic({ base, model, prompt, signal }: Question): Promise<LlmResponse> {
  const client = new Anthropic({ baseURL: base, apiKey: "demo", dangerouslyAllowBrowser: true, maxRetries: 0 });
  const { data: stream, response } = await client.messages
    .create(
      { model, max_tokens: 1024, messages: [{ role: "user", content: prompt }], stream: true },
      { signal },
    )
    .withResponse();
  async function* texts() {
    for await (const event of stream) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text;
    }
  }
  return { texts: texts(), stop: () => stream.controller.abort(), seq: response.headers.get(SEQ_HEADER) };
}

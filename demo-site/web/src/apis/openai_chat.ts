// OpenAI chat completions through the `openai` package.
import OpenAI from "openai";
import { type LlmResponse, type Question, SEQ_HEADER } from "./types";

/** A client for this site, without retries: they would hide the failures that the scenarios show. */
export function client(base: string): OpenAI {
  return new OpenAI({ baseURL: `${base}/v1`, apiKey: "demo", dangerouslyAllowBrowser: true, maxRetries: 0 });
}

export async function openaiChat({ base, model, prompt, signal }: Question): Promise<LlmResponse> {
  const { data: stream, response } = await client(base)
    .chat.completions.create(
      {
        model,
        messages: [{ role: "user", content: prompt }],
        stream: true,
        stream_options: { include_usage: true },
      },
      { signal },
    )
    .withResponse();
  async function* texts() {
    for await (const chunk of stream) {
      const text = chunk.choices[0]?.delta?.content;
      if (text) yield text;
    }
  }
  return { texts: texts(), stop: () => stream.controller.abort(), seq: response.headers.get(SEQ_HEADER) };
}

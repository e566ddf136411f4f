// The `@anthropic-ai/sdk` package, with its own events.
import Anthropic from "@anthropic-ai/sdk";

export async function anthropic(base, prompt, write) {
  const client = new Anthropic({ baseURL: base, apiKey: "demo", dangerouslyAllowBrowser: true });
  const stream = client.messages.stream({
    model: "demo-model",
    max_tokens: 1024,
    messages: [{ role: "user", content: prompt }],
  });
  stream.on("text", write);
  await stream.done();
}

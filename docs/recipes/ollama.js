// The `ollama` package in the browser: lines of JSON instead of server-sent events.
import { Ollama } from "ollama/browser";

export async function ollama(base, prompt, write) {
  const client = new Ollama({ host: base });
  const stream = await client.chat({
    model: "demo-model",
    messages: [{ role: "user", content: prompt }],
    stream: true,
  });
  for await (const { message } of stream) write(message.content);
}

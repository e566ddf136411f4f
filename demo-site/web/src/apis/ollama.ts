// Ollama's native chat API with `fetch` and a reader, as small apps use it.
import { type LlmResponse, type Question, SEQ_HEADER } from "./types";

interface Line {
  message?: { content?: string };
  error?: string;
}

export async function ollama({ base, model, prompt, signal }: Question): Promise<LlmResponse> {
  const own = new AbortController();
  const response = await fetch(`${base}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: prompt }], stream: true }),
    signal: AbortSignal.any([signal, own.signal]),
  });
  if (!response.ok || !response.body) {
    const { error } = (await response.json()) as Line;
    throw new Error(`${response.status} ${error}`);
  }
  const reader = response.body.getReader();
  return { texts: texts(reader), stop: () => own.abort(), seq: response.headers.get(SEQ_HEADER) };
}

async function* texts(reader: ReadableStreamDefaultReader<Uint8Array>) {
  const decoder = new TextDecoder();
  let pending = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (pending + decoder.decode(value, { stream: true })).split("\n");
      pending = lines.pop() ?? "";
      for (const line of lines) {
        const { message, error } = JSON.parse(line) as Line;
        if (error) throw new Error(error);
        if (message?.content) yield message.content;
      }
    }
  } finally {
    // If the app stops early, this closes the connection. After the end it has no effect.
    await reader.cancel().catch(() => {});
  }
}

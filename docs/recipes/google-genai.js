// The `@google/genai` package. `base` is where the app's own server passes its requests on, with a key that no page has.
import { GoogleGenAI } from "@google/genai";

export async function googleGenAi(base, prompt, write) {
  const client = new GoogleGenAI({ apiKey: "demo", httpOptions: { baseUrl: base } });
  const stream = await client.models.generateContentStream({ model: "demo-model", contents: prompt });
  for await (const { text } of stream) write(text ?? "");
}

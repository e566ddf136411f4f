// The `openai` package. Its clients keep the fetch that they find when they are made, and those of 4.x the one that they
// find when the package is imported: the probe goes first.
import OpenAI from "openai";

export async function openai(base, prompt, write) {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "demo", dangerouslyAllowBrowser: true });
  const stream = await client.chat.completions.create({
    model: "demo-model",
    messages: [{ role: "user", content: prompt }],
    stream: true,
    // Without it there are no token counts to report.
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) write(chunk.choices[0]?.delta?.content ?? "");
}

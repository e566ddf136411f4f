// Nothing but `fetch` and a reader. A response that is neither server-sent events nor lines of JSON by its
// type is watched when its request says `"stream": true`, or when `isStream` names it.
export async function plainFetch(base, prompt, write) {
  const response = await fetch(`${base}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "demo-model", messages: [{ role: "user", content: prompt }], stream: true }),
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      write(JSON.parse(line.slice("data: ".length)).choices[0]?.delta?.content ?? "");
    }
  }
}

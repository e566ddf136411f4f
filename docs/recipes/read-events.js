/** Passes on the text of a response in the format of OpenAI's chat completions. `body` is a stream of bytes. */
export async function readEvents(body, write) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
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

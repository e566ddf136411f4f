// Both ways over the same chunks, in turns; the fastest round of each counts. `args` is the name of the
// body.
const { createParser } = await import("/parser/index.js");
const { instance } = await WebAssembly.instantiateStreaming(fetch("/core.wasm"));
const { begin, read, deltas, memory } = instance.exports;
const body = new Uint8Array(await (await fetch(`/body/${args[0]}`)).arrayBuffer());

const chunks = [];
for (let start = 0, at = 1; at < body.length; at++) {
  if (body[at] === 10 && body[at - 1] === 10) {
    chunks.push(body.slice(start, at + 1));
    start = at + 1;
  }
}
const longest = Math.max(...chunks.map((chunk) => chunk.length));

function ours() {
  const place = begin(longest);
  let bytes = new Uint8Array(memory.buffer);
  for (let at = 0; at < chunks.length; at++) {
    // Memory that grows is a new buffer.
    if (bytes.length === 0) bytes = new Uint8Array(memory.buffer);
    bytes.set(chunks[at], place);
    read(at * 20, chunks[at].length);
  }
  return deltas();
}

const hasText = (event) => Boolean(event.choices ? event.choices[0]?.delta.content : event.delta?.text);

function theirs() {
  let texts = 0;
  const parser = createParser({
    onEvent: ({ data }) => {
      if (hasText(JSON.parse(data))) texts++;
    },
  });
  const decoder = new TextDecoder();
  for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }));
  return texts;
}

const best = [Infinity, Infinity];
for (let round = 0; round < 30; round++) {
  for (const [index, run] of [ours, theirs].entries()) {
    const start = performance.now();
    const texts = run();
    best[index] = Math.min(best[index], performance.now() - start);
    if (texts !== chunks.length) throw new Error(`${texts} texts in ${chunks.length} events`);
  }
}
return { events: chunks.length, ns: best.map((ms) => (ms * 1e6) / chunks.length) };

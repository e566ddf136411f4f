// One body per line of standard input, as a list of chunks in base64; per line of standard output the
// events that eventsource-parser dispatches for it: name, data, and the id that came with it.
import { createInterface } from "node:readline";
import { createParser } from "eventsource-parser";

for await (const line of createInterface({ input: process.stdin })) {
  const events = [];
  const parser = createParser({
    onEvent: ({ event, data, id }) => events.push([event ?? "message", data, id ?? null]),
  });
  // The parser drops one byte order mark itself: the decoder must leave it.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for (const chunk of JSON.parse(line)) {
    parser.feed(decoder.decode(Buffer.from(chunk, "base64"), { stream: true }));
  }
  console.log(JSON.stringify(events));
}

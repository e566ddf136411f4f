// Generates random programs, each from a number: the bytes that the server sends and the steps of the app.

const MARKER = "data: [DONE]\n\n";
const TYPES = ["text/event-stream", "text/event-stream", "text/event-stream; charset=utf-8", "application/x-ndjson", "text/plain", "application/json", ""];
const KINDS_OF_END = ["end", "end", "end", "cut", "reset", "more", "drip"];

/** The steps of an app and their relative frequencies. */
const WEIGHTS = {
  go: 8,
  settle: 6,
  pause: 2,
  fetch: 1,
  getReader: 5,
  byobReader: 2,
  madeReader: 1,
  prototypeReader: 1,
  read: 10,
  drain: 2,
  closed: 1,
  release: 3,
  cancelReader: 2,
  cancelStream: 2,
  tee: 2,
  clone: 2,
  values: 2,
  iterator: 1,
  next: 4,
  return: 1,
  whole: 3,
  pipeThrough: 2,
  pipeTo: 2,
  wrap: 1,
  transfer: 1,
  abort: 1,
};

/** The same number always makes the same program. */
export function program(seed) {
  const random = generator(seed);
  const below = (count) => Math.floor(random() * count);
  const one = (list) => list[below(list.length)];
  const names = Object.entries(WEIGHTS).flatMap(([name, weight]) => Array(weight).fill(name));
  const answers = [answer(), answer()];
  const steps = ["fetch", "settle", ...Array.from({ length: 3 + below(14) }, () => one(names))];
  return { seed, answers, steps: steps.map((name) => ({ name, on: below(8), how: below(64) })) };

  function answer() {
    const events = [": hello\n\n", chunk({ role: "assistant", content: "" })];
    for (let count = below(5); count >= 0; count--) events.push(chunk({ content: one(["Hi", "für", "🙂"]) }));
    if (below(6)) events.push(chunk({}, "stop"));
    if (below(4)) events.push(MARKER);
    if (!below(6)) events.push(one(["data: {", "garbage", "\n\n\n", MARKER, "data: {}\n\n"]));
    const bytes = below(12) ? new TextEncoder().encode(events.join("")) : new Uint8Array();
    const cuts = Array.from({ length: below(5) }, () => below(bytes.length + 1)).sort((a, b) => a - b);
    const pieces = [0, ...cuts].map((from, at) => [...bytes.slice(from, cuts[at])]);
    const steps = below(2) ? ["head"] : [];
    for (const piece of pieces) {
      if (steps.length && below(4)) steps.push("gate");
      if (piece.length) steps.push(`hex=${piece.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`);
    }
    const end = one(KINDS_OF_END);
    if (below(3)) steps.push("gate");
    if (["cut", "reset", "drip"].includes(end)) steps.push(end);
    // With a content-length above the bytes sent, the body is cut as well.
    const length = end == "more" ? bytes.length + 9 : undefined;
    const status = below(14) ? 200 : one([201, 404, 500]);
    return { type: one(TYPES), status, length, steps: steps.join(" "), asks: below(4) > 0, signals: below(3) > 0 };
  }
}

function chunk(delta, reason = null) {
  const choices = [{ delta, finish_reason: reason }];
  return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices })}\n\n`;
}

/** Numbers from 0 to 1, by mulberry32. */
function generator(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Incremental parser of the collector's event stream, whose lines end with a line feed, and the reconnect delay. */
export interface ServerSentEvent {
  /** `message` if the stream gives no name. */
  name: string;
  data: string;
}

export class EventStreamParser {
  private rest = "";

  /** Returns the events that end in this chunk. Throws if an event exceeds the size limit. */
  parse(chunk: string): ServerSentEvent[] {
    const blocks = (this.rest + chunk).split("\n\n");
    this.rest = blocks.pop() ?? "";
    if (this.rest.length > MAX_EVENT_CHARS) throw new RangeError("event exceeds the size limit");
    return blocks.flatMap((block) => eventOf(block) ?? []);
  }
}

/** Delay before the next attempt; `random` is from 0 to 1. */
export function backoff(attempt: number, random: number): number {
  const longest = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** attempt);
  // Jitter: dashboards that lost a collector at the same time do not reconnect at the same time.
  return Math.round(longest * (0.5 + random / 2));
}

function eventOf(block: string): ServerSentEvent | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  // A block without data is a comment, which the collector sends as a keep-alive.
  return data.length === 0 ? null : { name, data: data.join("\n") };
}

const MAX_EVENT_CHARS = 1_000_000;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;

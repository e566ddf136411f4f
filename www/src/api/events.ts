/** Pieces of an event stream in, whole events out. It reads what the collector writes: lines that end with a line feed. */
export interface ServerSentEvent {
  /** `message` where the stream gives no name. */
  name: string;
  data: string;
}

export class EventStreamParser {
  private rest = "";

  /** The events that end in this piece. Throws when one grows beyond any that a collector writes. */
  parse(chunk: string): ServerSentEvent[] {
    const blocks = (this.rest + chunk).split("\n\n");
    this.rest = blocks.pop() ?? "";
    if (this.rest.length > MAX_EVENT_CHARS) throw new RangeError("an event without an end");
    return blocks.flatMap((block) => eventOf(block) ?? []);
  }
}

/** How long to wait before the next of so many attempts in a row; `random` is from 0 to 1. */
export function backoff(attempt: number, random: number): number {
  const longest = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** attempt);
  // Dashboards that lost a collector at the same time should not come back at the same time.
  return Math.round(longest * (0.5 + random / 2));
}

function eventOf(block: string): ServerSentEvent | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  // What has no data is a comment, by which the collector says that it is there.
  return data.length === 0 ? null : { name, data: data.join("\n") };
}

const MAX_EVENT_CHARS = 1_000_000;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;

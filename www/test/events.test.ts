import { describe, expect, it } from "vitest";

import { backoff, EventStreamParser } from "../src/api/events";

const STREAM = 'data: {"open":1}\n\n: \n\nevent: refused\ndata: {"error":{}}\n\ndata: a\ndata: b\n\n';
const EVENTS = [
  { name: "message", data: '{"open":1}' },
  { name: "refused", data: '{"error":{}}' },
  { name: "message", data: "a\nb" },
];

describe("the event stream parser", () => {
  it("gives the same events for every split", () => {
    for (let size = 1; size <= STREAM.length; size += 1) {
      const parser = new EventStreamParser();
      const pieces = Array.from({ length: Math.ceil(STREAM.length / size) }, (_, at) =>
        STREAM.slice(at * size, at * size + size),
      );
      expect(pieces.flatMap((piece) => parser.parse(piece))).toEqual(EVENTS);
    }
  });

  it("returns an event once it is complete", () => {
    const parser = new EventStreamParser();
    expect(parser.parse("data: 1\n")).toEqual([]);
    expect(parser.parse("\n")).toEqual([{ name: "message", data: "1" }]);
  });

  it("limits the size of an event", () => {
    const parser = new EventStreamParser();
    const piece = "x".repeat(300_000);
    for (let at = 0; at < 3; at += 1) expect(parser.parse(piece)).toEqual([]);
    expect(() => parser.parse(piece)).toThrow(RangeError);
  });
});

describe("the reconnect delay", () => {
  it("doubles up to half a minute", () => {
    const longest = [0, 1, 2, 3, 4, 5, 60].map((attempt) => backoff(attempt, 1));
    expect(longest).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(backoff(0, 0)).toBe(500);
    expect(backoff(60, 0)).toBe(15_000);
  });
});

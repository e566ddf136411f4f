import { expect, it } from "vitest";

import type { Accounting } from "../src/api/api-types";
import { probeOverheadSummary, timePerChunk } from "../src/stream/probe-overhead";

const plain = (text: string | null) => text?.replaceAll("\u00a0", " ");
const of = (timed_chunks: number, chunks_ms: number, step: number) =>
  plain(timePerChunk({ timed_chunks, chunks_ms }, step));
const summary = (probe_overhead: Accounting["probe_overhead"]) => plain(probeOverheadSummary({ probe_overhead } as Accounting));

it("a time per chunk comes with its clock error", () => {
  expect(of(1000, 2.5, 0.1)).toBe("2.5 µs (± 1 µs)");
  expect(of(100_000, 250, 1)).toBe("2.5 µs (± 0.3 µs)");
});

it("a coarse clock gives an upper bound", () => {
  expect(of(100, 0, 1)).toBe("below 30 µs");
  expect(of(1000, 0.4, 0.1)).toBe("below 0.9 µs");
  expect(of(1000, 0.5, 0.1)).toBe("0.5 µs (± 0.4 µs)");
});

it("no time is known without timed chunks or a clock step", () => {
  expect(timePerChunk({ memory_bytes: 1 }, 0.1)).toBeNull();
  expect(timePerChunk({ timed_chunks: 5, chunks_ms: 1 }, undefined)).toBeNull();
});

it("the footer shows the known parts of the overhead", () => {
  expect(summary({ timed_chunks: 1200, us_per_chunk: 2.4, error_us: 0.3, memory_bytes: 196_608 })).toBe(
    "Probe overhead: 2.4 µs (± 0.3 µs) per chunk (1,200 chunks), 197 kB of memory.",
  );
  expect(summary({ timed_chunks: 9, memory_bytes: 196_608 })).toBe("Probe overhead: 197 kB of memory.");
  expect(summary({ timed_chunks: 0 })).toBeUndefined();
});

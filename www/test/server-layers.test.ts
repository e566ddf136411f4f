import { expect, it } from "vitest";

import type { ServerLayers } from "../src/api/schemas";
import { durationsOnly, reasonsOf, sidesOf } from "../src/panels/server-layers";

const without = { no_ttft: 0, no_response: 2, no_response_id: 30, may_come: 0, no_fact: 6 };
const answer: ServerLayers = {
  from: 0,
  to: 3_600_000,
  streams: 100,
  layers: [
    { layer: "app", sent: 60, in_stream: 2, without },
    { layer: "gateway", sent: 0, in_stream: 0, without: { ...without, no_fact: 68 } },
    { layer: "engine", sent: 0, in_stream: 40, without: { ...without, no_fact: 28 } },
  ],
};

it("layers that sent nothing are no choice", () => {
  const labels = sidesOf(answer).map(({ label }) => label.replace(/\s/g, " "));
  expect(labels).toEqual(["in stream", "app 62.0 %"]);
});

it("only reasons that occurred are named", () => {
  expect(reasonsOf(answer, "app")).toEqual([
    ["no_response", 2],
    ["no_response_id", 30],
    ["no_fact", 6],
  ]);
  expect(reasonsOf(answer, "in_band")).toEqual([]);
});

it("layers without a time to first token are named apart", () => {
  const edge = { layer: "edge" as const, sent: 0, in_stream: 0, without: { ...without, no_ttft: 41 } };
  expect(durationsOnly({ ...answer, layers: [edge, ...answer.layers] })).toEqual([["edge", 41]]);
});

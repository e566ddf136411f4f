import { expect, it } from "vitest";

import type { Marker, Release } from "../src/api/schemas";
import { markersOf } from "../src/charts/markers";

const release = (site: string, name: string, is_new: boolean) =>
  ({ site, release: name, is_new, first_ms: 5 }) as Release;

it("marks only releases that appeared in the range", () => {
  expect(markersOf([release("a", "v2", true), release("a", "v1", false)], [])).toEqual([{ at: 5, label: "v2" }]);
  expect(markersOf([release("a", "v2", true), release("b", "v1", true)], []).map(({ label }) => label)).toEqual([
    "a v2",
    "b v1",
  ]);
});

it("names the kind of a posted marker, and its site", () => {
  const posted: Marker[] = [
    { timestamp_ms: 7, kind: "deploy", title: "gateway 2.1", id: "1" },
    { timestamp_ms: 8, kind: "incident", title: "no GPU", site: "shop", id: "2" },
  ];
  expect(markersOf([release("shop", "v2", true)], posted)).toEqual([
    { at: 5, label: "v2" },
    { at: 7, label: "deploy: gateway 2.1" },
    { at: 8, label: "shop incident: no GPU" },
  ]);
});

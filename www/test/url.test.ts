import { expect, it } from "vitest";

import { DEFAULT_VIEW, readView, writeView, type View } from "../src/url";

it("the defaults give an empty query string", () => {
  expect(writeView(DEFAULT_VIEW)).toBe("");
  expect(readView("")).toEqual(DEFAULT_VIEW);
});

it("a view survives the query string", () => {
  const view: View = {
    range: "24h",
    filters: {
      site: ["demo"],
      model: ["org/model name & more:7b", "b"],
      provider: ["!llama_cpp"],
      release: ["v42"],
      outcome: ["!complete", "!aborted"],
      defect: ["stall", "none"],
    },
    metric: "inter_chunk_latency",
    chartType: "heatmap",
    compareTo: "week",
    by: "use_case",
    showsAllGroups: true,
    sample: "slowest",
    columns: ["model", "browser", "ttfv"],
    stream: "9f86d081884c7d659a2feaa0c55ad015",
  };
  expect(readView(writeView(view))).toEqual(view);
});

it("fixed times survive the query string", () => {
  const range = { from: 1_764_068_400_000, to: 1_764_072_000_000 };
  expect(writeView({ ...DEFAULT_VIEW, range })).toBe("?from=1764068400000&to=1764072000000");
  expect(readView("?from=1764068400000&to=1764072000000").range).toEqual(range);
  expect(readView("?from=1764072000000&to=1764068400000&range=6h").range).toBe("6h");
});

it("unknown values fall back to the defaults", () => {
  expect(readView("?from=1&to=x&compare_to=year")).toEqual(DEFAULT_VIEW);
  const unknown = "?range=2y&metric=vibes&drawing=pie&by=shoe&rows=some&outcome=fine&defect=hum&sample=best&columns=shoe&shoe=43";
  expect(readView(unknown)).toEqual(DEFAULT_VIEW);
  expect(readView("?outcome=fine&outcome=!timeout&defect=!hum").filters).toEqual({ outcome: ["!timeout"] });
});

it("attributes are filters and dimensions by their key", () => {
  const filters = { model: ["a"], "attribute.plan": ["!pro", "!free"], "attribute.size_2": ["xl"] } as const;
  const view: View = { ...DEFAULT_VIEW, filters, by: "attribute.plan" };
  const address = writeView(view);
  expect(address).toBe(
    "?model=a&attribute.plan=%21pro&attribute.plan=%21free&attribute.size_2=xl&by=attribute.plan",
  );
  expect(readView(address)).toEqual(view);
  const reversed = "?by=attribute.plan&attribute.size_2=xl&attribute.plan=!pro&attribute.plan=!free&model=a";
  expect(writeView(readView(reversed))).toBe(address);
  for (const name of ["attribute.", "attribute.Plan", "attribute.2nd", "attribute.a-b", `attribute.${"k".repeat(33)}`])
    expect(readView(`?${name}=x&by=${name}`), name).toEqual(DEFAULT_VIEW);
});

it("an empty value is no filter", () => {
  expect(readView("?model=&stream=").filters).toEqual({});
  expect(readView("?model=&stream=").stream).toBeNull();
});

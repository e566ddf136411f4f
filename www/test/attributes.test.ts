import type { VNode } from "preact";
import { beforeEach, expect, it, vi } from "vitest";

import { offeredAttributes } from "../src/api/attributes";
import { DIMENSIONS, type Dimension } from "../src/api/dimensions";

beforeEach(() => vi.stubGlobal("location", { search: "", pathname: "/" }));

it("offers each attribute once, also one of the view alone", () => {
  expect(offeredAttributes(["tier", "plan"], ["model", "attribute.plan", "attribute.beta"])).toEqual([
    "attribute.beta",
    "attribute.plan",
    "attribute.tier",
  ]);
});

it("the menu lists attributes after the other dimensions", async () => {
  expect(await options(["plan", "tier"], "model")).toEqual({
    dimensions: [...DIMENSIONS],
    attributes: ["attribute.plan", "attribute.tier"],
  });
  expect((await options([], "model")).attributes).toEqual([]);
  expect((await options([], "attribute.plan")).attributes).toEqual(["attribute.plan"]);
});

/** Values of the options of a menu over sites with these keys. */
async function options(keys: string[], value: Dimension) {
  const { dashboardData } = await import("../src/state");
  const { DimensionSelect } = await import("../src/panels/header/dimension-select");
  type Data = NonNullable<typeof dashboardData.value>;
  dashboardData.value = { summary: { attributes: keys } } as Data;
  const label = DimensionSelect({ label: "By", value, onChoose: () => undefined }) as Parent;
  const select = label.props.children[1] as unknown as Parent;
  const [, dimensions, group] = select.props.children as unknown as [undefined, Option[], Group | false];
  const valuesOf = (shown: Option[]) => shown.map(({ props }) => props.value);
  return { dimensions: valuesOf(dimensions), attributes: group ? valuesOf(group.props.children) : [] };
}

type Parent = VNode<{ children: unknown[] }>;
type Option = VNode<{ value: string }>;
type Group = VNode<{ children: Option[] }>;

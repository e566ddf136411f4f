import { afterEach, beforeEach, expect, it, vi } from "vitest";

const ID = "9f86d081884c7d659a2feaa0c55ad015";

class Field {
  constructor(readonly type: string) {}
}
class Other {}

let press: (key: string, change?: object) => boolean;

beforeEach(() => {
  vi.stubGlobal("location", { search: "", pathname: "/" });
  vi.stubGlobal("history", { pushState: () => undefined });
  vi.stubGlobal("document", { baseURI: "http://collector.test/", hidden: true });
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  vi.stubGlobal("HTMLInputElement", Field);
  vi.stubGlobal("HTMLSelectElement", Other);
  vi.stubGlobal("HTMLTextAreaElement", Other);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The dashboard with two streams in the list. */
async function opened() {
  const [shortcuts, state] = [await import("../src/panels/header/shortcuts"), await import("../src/state")];
  vi.stubGlobal("addEventListener", (_: string, listen: (event: object) => void) => {
    press = (key, change = {}) => {
      const preventDefault = vi.fn();
      listen({ key, preventDefault, target: null, ...change });
      return preventDefault.mock.calls.length > 0;
    };
  });
  shortcuts.startShortcuts();
  state.connection.value = { kind: "open" };
  state.dashboardData.value = { summary: { streams: 2, by_use_case: [] } } as never;
  const streams = [{ id: ID }, { id: "other" }];
  state.streamList.value = { pages: [{ streams, next: null }], depth: 0 } as never;
  return { ...shortcuts, ...state };
}

it("keys change the view", async () => {
  const page = await opened();
  press("6");
  press("m");
  press("h");
  expect(page.view.value).toMatchObject({ range: "30d", metric: "ttft", chartType: "heatmap" });
  expect(press("p") && page.paused.value).toBe(true);
  expect(press("?") && page.isHelpOpen.value).toBe(true);
});

it("keys that are typed or belong to the browser do nothing", async () => {
  const page = await opened();
  for (const change of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }, { target: new Field("password") }])
    expect(press("6", change)).toBe(false);
  expect(press("z")).toBe(false);
  expect(page.view.value.range).toBe("1h");
  expect(press("6", { target: new Field("radio") })).toBe(true);
});

it("shortcuts can be turned off", async () => {
  const page = await opened();
  page.setShortcuts(false);
  expect(press("?")).toBe(false);
  page.setShortcuts(true);
  expect(press("?")).toBe(true);
});

it("the form for the token leaves only help, theme and time zone", async () => {
  const page = await opened();
  page.connection.value = { kind: "locked" };
  const keys = page.SHORTCUTS.flatMap((shortcut) => shortcut.keys);
  expect(keys.filter((key) => page.shortcutOf(key))).toEqual(["?", "t", "u"]);
  expect(new Set(keys).size).toBe(keys.length);
});

it("an open stream has its own keys", async () => {
  const page = await opened();
  expect(press("j")).toBe(false);
  page.openStream(page.rows.value[0]?.id ?? "");
  press("j");
  expect(page.view.value.stream).toBe(page.rows.value[1]?.id);
  press("k");
  expect(page.view.value.stream).toBe(page.rows.value[0]?.id);
  expect(press("6")).toBe(false);
});

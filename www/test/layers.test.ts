import { expect, it } from "vitest";

/** From the lowest layer to the highest: a file imports from its own layer and from lower ones. */
const LAYERS = [
  ["api/"],
  ["format", "url", "theme", "metric"],
  ["ui/"],
  ["charts/"],
  ["polling/stream-list", "polling/resolution"],
  ["state"],
  ["polling/"],
  ["stream/"],
  ["panels/"],
  ["app"],
  ["main"],
];

const sources = import.meta.glob<string>("../src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });
const imports = new Map(Object.entries(sources).map(([path, text]) => [nameOf(path), importsOf(nameOf(path), text)]));

function nameOf(path: string): string {
  return path.replace("../src/", "").replace(/\.tsx?$/, "");
}

function importsOf(file: string, text: string): string[] {
  const base = new URL(file, "file:///");
  const relative = [...text.matchAll(/from "(\.[^"]*)"/g)].map(([, path]) => path ?? "");
  return relative.map((path) => new URL(path, base).pathname.slice(1));
}

function layerOf(file: string): number {
  const exact = LAYERS.findIndex((layer) => layer.includes(file));
  if (exact >= 0) return exact;
  return LAYERS.findIndex((layer) => layer.some((name) => name.endsWith("/") && file.startsWith(name)));
}

it("each file belongs to a layer", () => {
  expect(imports.size).toBeGreaterThan(50);
  expect([...imports.keys()].filter((file) => layerOf(file) < 0)).toEqual([]);
});

it("each file imports from its own layer or a lower one", () => {
  const upward = [...imports].flatMap(([file, targets]) =>
    targets.filter((target) => layerOf(target) > layerOf(file)).map((target) => `${file} imports ${target}`),
  );
  expect(upward).toEqual([]);
});

it("the imports form no cycle", () => {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): string[] => {
    if (path.includes(file)) return [...path, file];
    if (done.has(file)) return [];
    const cycle = (imports.get(file) ?? []).flatMap((target) => visit(target, [...path, file]));
    done.add(file);
    return cycle;
  };
  expect([...imports.keys()].flatMap((file) => visit(file, []))).toEqual([]);
});

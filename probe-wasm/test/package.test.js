// The packed npm package: its files, the targets of its exports, and its types as apps resolve them.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** An app's folder with the package in it. */
let app;

before(() => {
  app = mkdtempSync(join(tmpdir(), "llm-rum-package-"));
  const installed = join(app, "node_modules/llm-rum");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["xzf", here("../dist/llm-rum.tgz"), "-C", installed, "--strip-components=1"]);
  writeFileSync(join(app, "package.json"), '{ "type": "module" }');
});

after(() => rmSync(app, { recursive: true }));

test("the package holds what apps load, and nothing else", () => {
  const files = execFileSync("tar", ["tzf", here("../dist/llm-rum.tgz")], { encoding: "utf8" });
  const names = ["llm-rum-all.wasm", "llm-rum-dev.js", "llm-rum-dev.mjs", "llm-rum-more.js", "llm-rum-more.mjs", "llm-rum-worker.mjs", "llm-rum.d.ts", "llm-rum.js", "llm-rum.mjs"];
  const licences = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-NOTICES.txt"];
  const dist = [...licences, ...names, "llm-rum.wasm", "more.d.ts", "stub.js"].map((name) => `dist/${name}`);
  const expected = ["README.md", ...dist, "package.json"];
  assert.deepEqual(files.trim().split("\n").sort(), expected.map((name) => `package/${name}`));
});

test("every exported name of the package leads to a file", () => {
  const { exports } = JSON.parse(readFileSync(here("../package.json")));
  const names = Object.keys(exports).map((name) => name.replace(".", "llm-rum"));
  const script = names.map((name) => `import.meta.resolve(${JSON.stringify(name)})`).join();
  const code = `import { existsSync } from "node:fs"; console.log([${script}].filter((url) => !existsSync(new URL(url))).join())`;
  assert.equal(execFileSync("node", ["--input-type=module", "-e", code], { cwd: app, encoding: "utf8" }), "\n");
});

test("the import and a start on a server have no effect", () => {
  const code = `const before = Object.keys(globalThis).join() + globalThis.fetch;
    const { start } = await import("llm-rum");
    const probe = start({ collector: "https://rum.example", site: "x" });
    probe.setConsent("granted");
    if (probe.wrapFetch(fetch) !== fetch) throw new Error("fetch is wrapped");
    console.log(before === Object.keys(globalThis).join() + globalThis.fetch);`;
  assert.equal(execFileSync("node", ["--input-type=module", "-e", code], { cwd: app, encoding: "utf8" }), "true\n");
});

for (const [module, moduleResolution] of [["node16", "node16"], ["esnext", "bundler"]])
  test(`the types are found by moduleResolution ${moduleResolution}`, () => {
    writeFileSync(join(app, "app.ts"), APP);
    const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--types", ""];
    const tsc = spawnSync(
      "node",
      [here("../node_modules/typescript/bin/tsc"), ...options, "--module", module, "--moduleResolution", moduleResolution, "app.ts"],
      { cwd: app, encoding: "utf8" },
    );
    assert.equal(tsc.stdout + tsc.stderr, "");
    assert.equal(tsc.status, 0);
  });

const APP = `import { start, type StreamReport } from "llm-rum";
const probe = start({ collector: "https://rum.example", site: "pk_live_1", useCase: "chat" });
probe.onFirstToken((report: StreamReport) => console.log(report.ttft_ms?.toFixed()));
console.log(probe.wrapFetch(fetch), window.llmRum?.probe?.lastReport()?.outcome);
`;

// The packed npm package: its files, that it needs no other, and its types as apps resolve them.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** An app's folder with nothing but the package in it. */
let app;
before(() => {
  app = mkdtempSync(join(tmpdir(), "llm-rum-server-"));
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", app], {
    cwd: here(".."),
    encoding: "utf8",
  });
  const installed = join(app, "node_modules/llm-rum-server");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["xzf", join(app, packed.trim()), "-C", installed, "--strip-components=1"]);
  writeFileSync(join(app, "package.json"), '{ "type": "module" }');
});
after(() => rmSync(app, { recursive: true }));

test("the package holds its sources and types, and nothing else", () => {
  const names = readdirSync(join(app, "node_modules/llm-rum-server")).sort();
  assert.deepEqual(names, ["README.md", "index.d.ts", "package.json", "src"]);
  assert.deepEqual(JSON.parse(readFileSync(here("../package.json"))).dependencies, undefined);
});

for (const conditions of ["node", "workerd"])
  test(`the package loads without others under ${conditions}`, () => {
    const code = 'console.log(Object.keys(await import("llm-rum-server")).join())';
    const output = execFileSync(process.execPath, ["-C", conditions, "--input-type=module", "-e", code], {
      cwd: app,
      encoding: "utf8",
    });
    assert.equal(output.trim(), "expressMiddleware,fastifyPlugin,mark,sendTimingsTo,withLlmRum");
  });

for (const [module, moduleResolution] of [
  ["node16", "node16"],
  ["esnext", "bundler"],
])
  test(`the types are found by moduleResolution ${moduleResolution}`, () => {
    writeFileSync(join(app, "app.ts"), APP);
    const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--types", ""];
    const resolution = ["--module", module, "--moduleResolution", moduleResolution];
    const tsc = spawnSync("node", [here("../node_modules/typescript/bin/tsc"), ...options, ...resolution, "app.ts"], {
      cwd: app,
      encoding: "utf8",
    });
    assert.equal(tsc.stdout + tsc.stderr, "");
    assert.equal(tsc.status, 0);
  });

const APP = `import { mark, withLlmRum } from "llm-rum-server";
export const POST = withLlmRum(async (request: Request) => (mark({ queue_ms: 1 }), new Response(request.body)));
`;

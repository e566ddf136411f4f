/**
 * `node compress.mjs FOLDER…`: puts beside each file that browsers load what servers send of it, by brotli and by gzip.
 * Runs in the folder of an npm package that has zopfli.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { brotliCompressSync } from "node:zlib";

// Browsers accept brotli only over https. For the others, zopfli's gzip is 4 % smaller than that of zlib, level 9.
const zopfli = createRequire(resolve("package.json"))("@gfx/zopfli");

const LOADED = /\.(css|html|js|mjs|svg|wasm)$/;

for (const folder of process.argv.slice(2)) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => LOADED.test(name));
  for (const path of names.map((name) => join(folder, name))) {
    const bytes = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(bytes));
    writeFileSync(`${path}.gz`, await zopfli.gzipAsync(bytes, {}));
  }
}

/** `node compress.mjs FOLDER…`: puts beside each file that browsers load what servers send of it, by brotli and by gzip. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const LOADED = /\.(css|html|js|mjs|svg|wasm)$/;

for (const folder of process.argv.slice(2)) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => LOADED.test(name));
  for (const path of names.map((name) => join(folder, name))) {
    const bytes = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(bytes));
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

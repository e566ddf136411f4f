/** Prints the gzipped size of `dist/` and fails above the budget. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET = 90_000;
const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const sizes = files.map(({ parentPath, path, name }) => {
  const body = readFileSync(join(parentPath ?? path, name));
  return { name, raw: body.length, gzip: gzipSync(body, { level: 9 }).length };
});
const total = sizes.reduce((sum, { gzip }) => sum + gzip, 0);
for (const { name, raw, gzip } of sizes)
  console.log(`${name.padEnd(32)} ${String(raw).padStart(8)} B  ${String(gzip).padStart(7)} B gzip`);
console.log(`${"total".padEnd(32)} ${" ".repeat(10)}  ${String(total).padStart(7)} B gzip of ${BUDGET}`);
if (total > BUDGET) {
  console.error("the dashboard is over its budget");
  process.exit(1);
}

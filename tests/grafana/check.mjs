/** Checks the dashboard that `llm-rum grafana` prints to standard input against Grafana's types. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const dashboard = JSON.parse(readFileSync(0, "utf8"));
// The types are TypeScript's, so the compiler has to see the dashboard as a literal.
mkdirSync("dist", { recursive: true });
writeFileSync(
  "dist/dashboard.ts",
  `import type { PrintedDashboard } from "../types.js";\n\nexport const dashboard: PrintedDashboard = ${JSON.stringify(dashboard, null, 2)};\n`,
);
const { status } = spawnSync("node_modules/.bin/tsc", ["--project", "."], { stdio: "inherit" });
process.exit(status ?? 1);

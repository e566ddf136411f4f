// Bundles the page into `dist`: a script, a style sheet, an icon, and the HTML template that the server fills in.
import { cp, mkdir, rm } from "node:fs/promises";
import { build } from "esbuild";

await rm("dist", { recursive: true, force: true });
await mkdir("dist");
await build({
  entryPoints: { app: "src/main.ts", page: "src/page.css" },
  outdir: "dist",
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  sourcemap: false,
  legalComments: "none",
  logLevel: "warning",
});
await cp("src/index.html", "dist/index.html");
await cp("src/icon.svg", "dist/icon.svg");

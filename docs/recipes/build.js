// Bundles the recipes for the pages of the tests. Svelte's components need its compiler.
import { build } from "esbuild";
import sveltePlugin from "esbuild-svelte";

await build({
  entryPoints: { recipes: "index.js", zone: "zone.js" },
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  define: { "process.env.NODE_ENV": '"production"', __VUE_OPTIONS_API__: "false", __VUE_PROD_DEVTOOLS__: "false" },
  plugins: [sveltePlugin({ compilerOptions: { css: "injected" } })],
  mainFields: ["svelte", "browser", "module", "main"],
  conditions: ["svelte", "browser"],
  legalComments: "none",
  logLevel: "warning",
  outdir: "dist",
});

/** Builds the self-contained `dist/`. In development, API calls go to a running collector. */
import { defineConfig, loadEnv } from "vite";

/** `cargo xtask dashboard-dev` sets the variable. The default is the demo's collector. */
const { LLM_RUM_COLLECTOR: collector = "http://127.0.0.1:8787" } = loadEnv("development", ".", "LLM_RUM_");

export default defineConfig({
  // Relative addresses also work below a path of a reverse proxy.
  base: "./",
  build: {
    // The collector's `default-src 'self'` blocks `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: false,
    target: "es2022",
    // The first versions with light-dark(): older targets would duplicate the colours.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    sourcemap: false,
  },
  server: {
    proxy: { "/v1": collector, "/llm-rum.js": collector, "/snippet": collector },
  },
});

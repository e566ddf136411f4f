/** Builds the self-contained `dist/`. In development, API calls go to a running collector. */
import { defineConfig } from "vite";

const collector = "http://127.0.0.1:8787";

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

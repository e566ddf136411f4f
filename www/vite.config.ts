/** Builds `dist/`, hashed and self-contained; in development passes API calls to a running collector. */
import { defineConfig } from "vite";

const collector = "http://127.0.0.1:8787";

export default defineConfig({
  // Relative addresses: the dashboard also works below a path of a reverse proxy.
  base: "./",
  build: {
    // A data: address would be blocked by the collector's `default-src 'self'`.
    assetsInlineLimit: 0,
    modulePreload: false,
    target: "es2022",
    // The first with light-dark(): for older ones it would be written twice.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    sourcemap: false,
  },
  server: {
    proxy: { "/v1": collector, "/llm-rum.js": collector, "/snippet": collector },
  },
});

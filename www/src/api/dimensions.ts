/** Generated from collector/src/aggregate by `cargo xtask generate`. */

/** Dimensions by which windows are kept. */
export const WINDOW_DIMENSIONS = ["site", "use_case", "provider", "model", "country", "response_model"] as const;

/** Dimensions that only single streams have. */
export const STREAM_DIMENSIONS = [
  "release",
  "variant",
  "route",
  "browser",
  "browser_version",
  "os",
  "device",
  "connection",
  "protocol",
  "visibility",
  "dialect",
  "prompt_size",
  "cached",
  "reasoning",
  "stream_kind",
  "finish_reason",
  "server_source",
  "outcome",
  "defect",
] as const;

/** Those that every site has: each filters every query, and the breakdown groups by it. */
export const DIMENSIONS = [...WINDOW_DIMENSIONS, ...STREAM_DIMENSIONS] as const;

/** A dimension that the app names. */
export type Attribute = `attribute.${string}`;
export type Dimension = (typeof DIMENSIONS)[number] | Attribute;

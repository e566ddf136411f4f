/** Generated from collector/src/aggregate by `cargo xtask generate`. */

/** Dimensions that filter and group every query. */
export const DIMENSIONS = ["site", "use_case", "provider", "model", "country", "response_model"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** Dimensions that only single streams have: the breakdown groups by them too. */
export const STREAM_DIMENSIONS = [
  "release",
  "route",
  "browser",
  "os",
  "device",
  "connection",
  "protocol",
  "visibility",
  "dialect",
  "prompt_size",
  "cached",
  "reasoning",
  "finish_reason",
  "server_source",
] as const;
export type GroupBy = Dimension | (typeof STREAM_DIMENSIONS)[number];

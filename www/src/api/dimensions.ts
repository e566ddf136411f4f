/** Generated from collector/src/aggregate/dimension.rs by `cargo xtask generate`. */

/** Dimensions that filter and group every query. */
export const DIMENSIONS = ["site", "use_case", "provider", "model", "country", "response_model"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** Generated from collector/src/aggregate/dimension.rs by `cargo xtask generate`. */

/** Dimensions that filter and group every query. */
export const DIMENSIONS = ["site", "use_case", "provider", "model", "country"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

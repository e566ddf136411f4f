/** The layers of the backend that sent timings of a stream, from outside to inside. */
import type { StreamReport } from "../api/api-types";

export function layersOf({ layers }: StreamReport) {
  return LAYERS.flatMap((layer) => {
    const timing = layers?.[layer];
    return timing ? [{ layer, timing }] : [];
  });
}

const LAYERS = ["edge", "app", "model_call", "gateway", "engine"] as const;

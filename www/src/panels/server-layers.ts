/** The layers of the backend as choices, and why streams lack the time of one. */
import type { ServerLayers, ServerSide } from "../api/schemas";
import { humanize, percent } from "../format";

/** What the streams carry, and each layer that sent its time, with the share of the streams that have it. */
export function sidesOf({ layers, streams }: ServerLayers): { value: ServerSide; label: string }[] {
  const known = layers.filter(({ sent }) => sent > 0);
  const options = known.map(({ layer, sent, in_stream: carried }) => ({
    value: layer,
    label: `${humanize(layer)} ${percent((sent + carried) / streams)}`,
  }));
  return [{ value: "in_band", label: "in stream" }, ...options];
}

/** Reasons that occurred, as their names in the API. */
export function reasonsOf({ layers }: ServerLayers, side: ServerSide): [reason: string, streams: number][] {
  const found = layers.find(({ layer }) => layer === side);
  return found ? Object.entries(found.without).filter(([, streams]) => streams > 0) : [];
}

/** Layers that tell durations but no time to first token, such as a proxy's log, with their streams. */
export function durationsOnly({ layers }: ServerLayers): [layer: string, streams: number][] {
  const found = layers.filter(({ sent, in_stream: carried, without }) => sent + carried === 0 && without.no_ttft > 0);
  return found.map(({ layer, without }) => [layer, without.no_ttft]);
}

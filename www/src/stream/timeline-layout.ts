/** Layout of a stream's timeline: the position of each moment and duration as shares of the axis. */
import type { ServerTiming, StreamReport } from "../api/api-types";
import { isKnown, type MaybeNumber } from "../format";
import { layersOf } from "./layers";

export interface MomentRow {
  name: string;
  /** Milliseconds since the request; `null` if it could not be seen or did not happen. */
  at: number | null;
  /** Milliseconds since the previous known moment. */
  sincePrevious: number | null;
  /** Start and end of the bar as shares of the axis. */
  bar: { from: number; to: number } | null;
  kind: "wait" | "stream";
}

/** A duration with its position on the axis. */
export interface DurationRow {
  name: string;
  ms: number;
  bar: { from: number; to: number };
}

/** A step of time with the deltas in it, relative to the busiest step. */
export interface ArrivalStep {
  bar: { from: number; to: number };
  share: number;
}

export interface TimelineLayout {
  /** Milliseconds at both ends of the axis. `from` is negative if the user acted before the request. */
  from: number;
  to: number;
  moments: MomentRow[];
  /** When text came. Empty if the report does not tell. */
  arrivals: ArrivalStep[];
  /** Network phases before the headers, without those that took no time. */
  network: DurationRow[];
  /** Whether the connection was reused; `null` if the browser does not report it. */
  isReused: boolean | null;
  /** From the end of the body in the browser until the app saw it. */
  endDelay: DurationRow | null;
  /** From the request to each moment that the app named. */
  marks: DurationRow[];
  server: DurationRow[];
  /** What the layers of the backend sent, from outside to inside. */
  layers: { layer: string; source: string; rows: DurationRow[] }[];
  /** Client TTFT minus server TTFT. */
  overhead: { ms: number; bar: { from: number; to: number } } | null;
}

export type TimelineSpan = "whole" | "first";

/** Lays out the whole stream, or the part up to the first text. */
export function layoutTimeline(report: StreamReport, span: TimelineSpan): TimelineLayout {
  const raw = momentsOf(report);
  const known = raw.map(({ at }) => at).filter(isKnown);
  const marks = report.marks ?? [];
  const from = Math.min(0, ...known);
  const to = span === "first" ? firstTextEnd(report, known) : Math.max(1, ...known, serverEnd(report.server), ...marks.map(({ at_ms }) => at_ms));
  const share = (ms: number) => clamp((ms - from) / (to - from));
  let before: number | null = null;
  const moments = raw.map(({ name, at, kind }): MomentRow => {
    if (!isKnown(at)) return { name, at: null, sincePrevious: null, bar: null, kind };
    const sincePrevious = before === null ? null : at - before;
    const start = before ?? at;
    before = at;
    return { name, at, sincePrevious, bar: { from: share(Math.min(start, at)), to: share(at) }, kind };
  });
  return {
    from,
    to,
    moments,
    arrivals: arrivalSteps(report, to, share),
    network: networkRows(report, share),
    isReused: isReused(report),
    endDelay: endDelayOf(report, share),
    marks: marks.map(({ name, at_ms: ms }) => ({ name, ms, bar: { from: share(0), to: share(ms) } })),
    server: serverRows(report.server, share),
    layers: layersOf(report).map(({ layer, timing }) => ({
      layer,
      source: timing.source,
      rows: serverRows(timing, share),
    })),
    overhead: overheadOf(report, share),
  };
}

/** Whether the zoom to the first text shows more than the whole stream. */
export function hasLongTail({ e2e_ms, close_ms, ttfv_ms, ttft_ms }: StreamReport): boolean {
  const first = ttfv_ms ?? ttft_ms;
  const end = close_ms ?? e2e_ms;
  return isKnown(first) && isKnown(end) && first * ZOOM < end;
}

/** The zoomed axis ends shortly after the first text. */
const ZOOM = 1.3;

function momentsOf(report: StreamReport): { name: string; at: MaybeNumber; kind: MomentRow["kind"] }[] {
  const { submit_delay_ms: delay } = report;
  return [
    { name: "submit", at: isKnown(delay) ? -delay : null, kind: "wait" },
    { name: "request", at: 0, kind: "wait" },
    { name: "headers", at: report.headers_ms, kind: "wait" },
    { name: "first byte", at: report.first_byte_ms, kind: "wait" },
    { name: "first token", at: report.ttft_ms, kind: "wait" },
    { name: "first visible", at: report.ttfv_ms, kind: "wait" },
    { name: "first paint", at: report.ttfp_ms, kind: "wait" },
    { name: "last token", at: report.e2e_ms, kind: "stream" },
    { name: "closed", at: report.close_ms, kind: "stream" },
  ];
}

/** The first digit of base 36 says how often 10 ms were doubled. Each other is a step, the busiest has the highest. */
function arrivalSteps({ arrivals, first_byte_ms: first }: StreamReport, to: number, share: (ms: number) => number): ArrivalStep[] {
  if (!arrivals || !isKnown(first)) return [];
  const [doublings = 0, ...levels] = [...arrivals].map((digit) => parseInt(digit, 36));
  const length = 10 * 2 ** doublings;
  return levels.flatMap((level, at) => {
    const from = first + at * length;
    return from < to ? [{ bar: { from: share(from), to: share(from + length) }, share: level / 35 }] : [];
  });
}

/** The phases are consecutive and end with the headers. Without headers they start with the request. */
function networkRows(
  { network_timing: timing, headers_ms: headers }: StreamReport,
  share: (ms: number) => number,
): DurationRow[] {
  const { dns_ms, connect_ms, tls_ms, wait_ms } = timing ?? {};
  const all = [
    { name: "DNS", ms: dns_ms },
    { name: "connect", ms: connect_ms },
    { name: "TLS", ms: tls_ms },
    { name: "wait", ms: wait_ms },
  ].flatMap(({ name, ms }) => (isKnown(ms) && ms > 0 ? [{ name, ms }] : []));
  const sum = all.reduce((ms, phase) => ms + phase.ms, 0);
  let at = isKnown(headers) ? Math.max(0, headers - sum) : 0;
  return all.map(({ name, ms }) => {
    const from = at;
    at += ms;
    return { name, ms, bar: { from: share(from), to: share(at) } };
  });
}

function isReused({ network_timing: timing }: StreamReport): boolean | null {
  const setUp = [timing?.dns_ms, timing?.connect_ms, timing?.tls_ms].filter(isKnown);
  return setUp.length === 0 ? null : setUp.every((ms) => ms === 0);
}

function endDelayOf(
  { page_lifecycle: lifecycle, close_ms: close }: StreamReport,
  share: (ms: number) => number,
): DurationRow | null {
  const ms = lifecycle?.end_delay_ms;
  if (!isKnown(ms) || !isKnown(close) || ms <= 0) return null;
  return { name: "end delay", ms, bar: { from: share(Math.max(0, close - ms)), to: share(close) } };
}

function firstTextEnd({ ttfv_ms, ttft_ms, ttfp_ms, server }: StreamReport, known: number[]): number {
  const first = Math.max(ttfp_ms ?? 0, ttfv_ms ?? 0, ttft_ms ?? 0, server?.ttft_ms ?? 0);
  return first > 0 ? first * ZOOM : Math.max(1, ...known);
}

function serverEnd(server: ServerTiming | null | undefined): number {
  return (server?.ttft_ms ?? 0) + (server?.generation_ms ?? 0);
}

/** Server durations start at the request, because server and browser clocks are never compared. */
function serverRows(
  server: Pick<ServerTiming, "queue_ms" | "ttft_ms" | "generation_ms"> | null | undefined,
  share: (ms: number) => number,
): DurationRow[] {
  if (!server) return [];
  const { queue_ms: queue, ttft_ms: ttft, generation_ms: generation } = server;
  const row = (name: string, from: number, ms: MaybeNumber): DurationRow[] =>
    isKnown(ms) ? [{ name, ms, bar: { from: share(from), to: share(from + ms) } }] : [];
  return [
    ...row("queue", 0, queue),
    ...row("TTFT", 0, ttft),
    ...row("generation", ttft ?? 0, generation),
  ];
}

function overheadOf(
  { ttft_ms: clientMs, server }: StreamReport,
  share: (ms: number) => number,
): TimelineLayout["overhead"] {
  const serverMs = server?.ttft_ms;
  if (!isKnown(clientMs) || !isKnown(serverMs)) return null;
  const bar = { from: share(Math.min(clientMs, serverMs)), to: share(Math.max(clientMs, serverMs)) };
  return { ms: clientMs - serverMs, bar };
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}

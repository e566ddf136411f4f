/** All fields of a report as text, in groups. Absent fields are listed as not known. */
import type { Dimension, StreamReport } from "../api/api-types";
import { attributeOf } from "../api/attributes";
import { dimensionValue, type ReportedDimension } from "../api/stream-columns";
import { bytes, count, dimensionLabel, exactDuration, humanize, isKnown, type MaybeNumber } from "../format";
import { timePerChunk } from "./probe-overhead";
import { isContentHidden } from "./stream-summary";

export interface Field {
  name: string;
  text: string | null;
  /** Dimension that the value can filter by. */
  dimension?: Dimension;
  /** Address that it leads to. */
  href?: string;
}

export interface FieldGroup {
  title: string;
  entries: Field[];
}

export function fieldsOf(report: StreamReport): FieldGroup[] {
  return GROUPS.map((group) => group(report)).filter(({ entries }) => entries.length > 0);
}

function identityFields(report: StreamReport): FieldGroup {
  const sampleRate = report.sample_rate;
  return {
    title: "Stream",
    entries: [
      ...dimensionFields(report, "site", "use_case", "provider"),
      { name: "requested model", text: report.model ?? null, dimension: "model" },
      ...dimensionFields(report, "response_model", "country", "dialect"),
      { name: "HTTP status", text: isKnown(report.status) ? String(report.status) : null },
      ...dimensionFields(report, "finish_reason"),
      { name: "response id", text: report.response_id ?? null },
      ...Object.entries(report.links ?? {}).map(([name, href]) => ({ name, text: null, href })),
      { name: "content visibility", text: VISIBILITY[report.observed ?? "events"] },
      { name: "revision", text: String(report.rev ?? 0) },
      ...(sampleRate ? [{ name: "sample rate", text: `${+(sampleRate * 100).toPrecision(3)} % of tabs` }] : []),
    ],
  };
}

function volumeFields(report: StreamReport): FieldGroup {
  const ifVisible = (value: number) => (isContentHidden(report) ? null : value);
  return {
    title: "Volume",
    entries: [
      countField("chunks", report.chunks),
      countField("events", ifVisible(report.events)),
      countField("deltas", ifVisible(report.deltas)),
      bytesField("bytes", report.bytes),
      countField("input tokens", report.input_tokens),
      countField("output tokens", report.output_tokens),
      countField("reasoning tokens", report.reasoning_tokens),
      countField("cached input tokens", report.cached_tokens),
    ],
  };
}

function timingFields(report: StreamReport): FieldGroup {
  const defects = Object.entries(report.defects ?? {}).filter(([, n]) => n > 0);
  return {
    title: "Timing and defects",
    entries: [
      durationField("first event", report.first_event_ms),
      durationField("TPOT", report.tpot_ms),
      durationField("longest inter-chunk latency", report.longest_gap_ms),
      countField("stalls", isContentHidden(report) ? null : (report.stalls ?? 0)),
      ...defects.map(([name, n]) => countField(`defect: ${humanize(name)}`, n)),
      durationField("clock resolution", report.clock_resolution_ms),
    ],
  };
}

function networkFields({ network_timing: timing }: StreamReport): FieldGroup {
  const { dns_ms, connect_ms, tls_ms, wait_ms } = timing ?? {};
  const entries = [
    durationField("DNS", dns_ms),
    durationField("connect", connect_ms),
    durationField("TLS", tls_ms),
    durationField("wait", wait_ms),
  ];
  return {
    title: "Network phases",
    entries: timing ? entries : [{ name: "network phases", text: null }],
  };
}

function serverFields({ server: timing }: StreamReport): FieldGroup {
  if (!timing) return { title: "Server", entries: [{ name: "server timing", text: null }] };
  return {
    title: "Server",
    entries: [
      { name: "source", text: timing.source, dimension: "server_source" },
      { name: "starts from", text: timing.starts_from ?? null },
      durationField("queue", timing.queue_ms),
      durationField("TTFT", timing.ttft_ms),
      durationField("generation", timing.generation_ms),
      countField("output tokens", timing.output_tokens),
    ],
  };
}

function pageFields(report: StreamReport): FieldGroup {
  const entries = [
    ...dimensionFields(report, "browser", "browser_version", "os", "device", "connection", "visibility"),
    ...dimensionFields(report, "release", "variant", "route"),
  ];
  const droppedReports = Object.entries(report.dropped ?? {}).filter(([, n]) => n);
  return {
    title: "Page",
    entries: [...entries, ...droppedReports.map(([name, n]) => countField(`dropped, ${humanize(name)}`, n))],
  };
}

function attributeFields(report: StreamReport): FieldGroup {
  const attributes = Object.keys(report.attributes ?? {}).map(attributeOf);
  return { title: "Attributes of the app", entries: dimensionFields(report, ...attributes) };
}

function lifecycleFields(report: StreamReport): FieldGroup {
  const { page_lifecycle: lifecycle } = report;
  if (!lifecycle) return { title: "Page lifecycle", entries: [] };
  const entries: Field[] = [
    ...dimensionFields(report, "protocol"),
    durationField("end-of-stream delay", lifecycle.end_delay_ms),
    durationField("hidden time", lifecycle.hidden_ms),
    countField("long frames", lifecycle.long_frames),
    durationField("long-frame time", lifecycle.long_frames_ms),
    countField("freezes", lifecycle.freezes),
    bytesField("received while hidden", lifecycle.hidden_bytes),
    bytesField("received after stop", lifecycle.after_stop_bytes),
  ];
  if (lifecycle.restored) entries.push({ name: "page load", text: "restored from the back/forward cache" });
  if (lifecycle.prerendered) entries.push({ name: "page load", text: "prerendered" });
  return { title: "Page lifecycle", entries };
}

function overheadFields({ probe_overhead: overhead, clock_resolution_ms }: StreamReport): FieldGroup {
  if (!overhead) return { title: "Probe overhead", entries: [] };
  return {
    title: "Probe overhead",
    entries: [
      { name: "time per chunk", text: timePerChunk(overhead, clock_resolution_ms) },
      bytesField("memory", overhead.memory_bytes),
      bytesField("earlier beacons", overhead.sent_bytes),
    ],
  };
}

function dimensionFields(report: StreamReport, ...dimensions: ReportedDimension[]): Field[] {
  return dimensions.map((dimension) => {
    const text = dimensionValue(report, dimension) ?? null;
    return { name: dimensionLabel(dimension), text, dimension };
  });
}

function countField(name: string, value: MaybeNumber): Field {
  return { name, text: isKnown(value) ? count(value) : null };
}

function durationField(name: string, value: MaybeNumber): Field {
  return { name, text: isKnown(value) ? exactDuration(value) : null };
}

function bytesField(name: string, value: MaybeNumber): Field {
  return { name, text: isKnown(value) ? bytes(value) : null };
}

const GROUPS = [
  identityFields,
  volumeFields,
  timingFields,
  networkFields,
  serverFields,
  pageFields,
  attributeFields,
  lifecycleFields,
  overheadFields,
];

/** What the probe could read of the stream. */
const VISIBILITY = { events: "events", chunks: "chunks only", arrival: "events (on arrival)", output: "page" };

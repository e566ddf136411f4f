/** All fields of a report as text, in groups. Absent fields are listed as not known. */
import type { Dimension, StreamReport } from "../api/api-types";
import { bytes, count, exactDuration, humanize, isKnown, type MaybeNumber } from "../format";
import { timePerChunk } from "./probe-overhead";
import { isContentHidden } from "./stream-summary";

export interface Field {
  name: string;
  text: string | null;
  /** Dimension that the value can filter by. */
  dimension?: Dimension;
}

export interface FieldGroup {
  title: string;
  entries: Field[];
}

export function fieldsOf(report: StreamReport): FieldGroup[] {
  const groups = [identityFields(report), volumeFields(report), timingFields(report), networkFields(report), serverFields(report), pageFields(report), lifecycleFields(report), overheadFields(report)];
  return groups.filter(({ entries }) => entries.length > 0);
}

function identityFields(report: StreamReport): FieldGroup {
  const requestedModel = report.model ?? null;
  return {
    title: "Stream",
    entries: [
      { name: "site", text: report.site ?? null, dimension: "site" },
      { name: "use case", text: report.use_case ?? null, dimension: "use_case" },
      { name: "provider", text: report.provider ?? null, dimension: "provider" },
      { name: "model asked for", text: requestedModel, dimension: "model" },
      {
        name: "model that answered",
        text: report.response_model ?? null,
        dimension: requestedModel === null ? "model" : undefined,
      },
      { name: "country", text: report.country === "unknown" ? null : report.country, dimension: "country" },
      { name: "dialect", text: report.dialect ? humanize(report.dialect) : null },
      { name: "HTTP status", text: isKnown(report.status) ? String(report.status) : null },
      { name: "finish reason", text: report.finish_reason ?? null },
      { name: "answer id", text: report.response_id ?? null },
      { name: "seen", text: VISIBILITY[report.observed ?? "events"] },
      { name: "revision", text: String(report.rev ?? 0) },
      ...(report.sample_rate ? [{ name: "sample", text: `${+(report.sample_rate * 100).toPrecision(3)} % of tabs` }] : []),
    ],
  };
}

function volumeFields(report: StreamReport): FieldGroup {
  const ifVisible = (value: number) => (isContentHidden(report) ? null : value);
  return {
    title: "Amounts",
    entries: [
      countField("chunks", report.chunks),
      countField("events", ifVisible(report.events)),
      countField("deltas", ifVisible(report.deltas)),
      { name: "bytes", text: bytes(report.bytes) },
      countField("input tokens", report.input_tokens),
      countField("output tokens", report.output_tokens),
      countField("of them reasoning", report.reasoning_tokens),
      countField("input from cache", report.cached_tokens),
    ],
  };
}

function timingFields(report: StreamReport): FieldGroup {
  const defects = Object.entries(report.defects ?? {}).filter(([, n]) => n > 0);
  return {
    title: "Rhythm and defects",
    entries: [
      durationField("first event", report.first_event_ms),
      durationField("per output token", report.tpot_ms),
      durationField("longest gap", report.longest_gap_ms),
      countField("stalls", isContentHidden(report) ? null : (report.stalls ?? 0)),
      ...defects.map(([name, n]) => countField(`defect: ${humanize(name)}`, n)),
      durationField("clock resolution", report.clock_resolution_ms),
    ],
  };
}

function networkFields({ phases }: StreamReport): FieldGroup {
  const names = ["dns_ms", "connect_ms", "tls_ms", "wait_ms"] as const;
  const entries = names.map((name) => durationField(name.replace("_ms", ""), phases?.[name]));
  return {
    title: "Before the first byte",
    entries: phases ? entries : [{ name: "network phases", text: null }],
  };
}

function serverFields({ server: timing }: StreamReport): FieldGroup {
  if (!timing) return { title: "Server", entries: [{ name: "server timing", text: null }] };
  return {
    title: "Server",
    entries: [
      { name: "source", text: humanize(timing.source) },
      { name: "counts from", text: timing.starts_from ?? null },
      durationField("queue", timing.queue_ms),
      durationField("first token", timing.ttft_ms),
      durationField("generation", timing.generation_ms),
      countField("output tokens", timing.output_tokens),
    ],
  };
}

function pageFields({ page: context, dropped }: StreamReport): FieldGroup {
  const names = ["browser", "os", "device", "connection", "visibility", "release", "route"];
  const entries: Field[] = names.map((name) => ({ name, text: context?.[name] ?? null }));
  const droppedReports = Object.entries(dropped ?? {}).filter(([, n]) => n > 0);
  return {
    title: "Page",
    entries: [...entries, ...droppedReports.map(([name, n]) => countField(`dropped, ${humanize(name)}`, n))],
  };
}

function lifecycleFields({ around: lifecycle }: StreamReport): FieldGroup {
  if (!lifecycle) return { title: "Around it", entries: [] };
  const entries: Field[] = [
    { name: "protocol", text: lifecycle.protocol ?? null },
    durationField("end noticed after", lifecycle.end_delay_ms),
    durationField("page hidden for", lifecycle.hidden_ms),
    countField("long frames", lifecycle.long_frames),
    durationField("together", lifecycle.long_frames_ms),
    countField("freezes", lifecycle.freezes),
    { name: "arrived while hidden", text: isKnown(lifecycle.hidden_bytes) ? bytes(lifecycle.hidden_bytes) : null },
    { name: "arrived after stop", text: isKnown(lifecycle.after_stop_bytes) ? bytes(lifecycle.after_stop_bytes) : null },
  ];
  const origins = [lifecycle.restored && "back from the cache", lifecycle.prerendered && "prerendered"].filter(Boolean);
  return { title: "Around it", entries: [...entries, ...origins.map((origin) => ({ name: "page", text: String(origin) }))] };
}

function overheadFields({ cost: overhead, clock_resolution_ms }: StreamReport): FieldGroup {
  if (!overhead) return { title: "The probe itself", entries: [] };
  const bytesField = (name: string, value: MaybeNumber): Field => ({ name, text: isKnown(value) ? bytes(value) : null });
  return {
    title: "The probe itself",
    entries: [
      { name: "its time per chunk", text: timePerChunk(overhead, clock_resolution_ms) },
      bytesField("its memory", overhead.memory_bytes),
      bytesField("sent before this", overhead.sent_bytes),
    ],
  };
}

function countField(name: string, value: MaybeNumber): Field {
  return { name, text: isKnown(value) ? count(value) : null };
}

function durationField(name: string, value: MaybeNumber): Field {
  return { name, text: isKnown(value) ? exactDuration(value) : null };
}

/** What the probe could read of the stream. */
const VISIBILITY = { events: "events", chunks: "chunks only", arrival: "events, as they arrived" };

/** One report in, its fields as named texts in groups out. Absent fields of the schema stay in the list, as not known. */
import type { Dimension, StreamReport } from "../api/api-types";
import { perChunk } from "./probe-overhead";
import { bytes, count, exactDuration, isKnown, humanize, type MaybeNumber } from "../format";
import { isOpaque } from "./stream-summary";

export interface Field {
  name: string;
  text: string | null;
  /** Where the value can be filtered by. */
  dimension?: Dimension;
}

export interface FieldGroup {
  title: string;
  entries: Field[];
}

export function fieldsOf(report: StreamReport): FieldGroup[] {
  const groups = [what(report), amounts(report), rhythm(report), way(report), server(report), page(report), around(report), cost(report)];
  return groups.filter(({ entries }) => entries.length > 0);
}

function what(report: StreamReport): FieldGroup {
  const asked = report.model ?? null;
  return {
    title: "Stream",
    entries: [
      { name: "site", text: report.site ?? null, dimension: "site" },
      { name: "use case", text: report.use_case ?? null, dimension: "use_case" },
      { name: "provider", text: report.provider ?? null, dimension: "provider" },
      { name: "model asked for", text: asked, dimension: "model" },
      {
        name: "model that answered",
        text: report.response_model ?? null,
        dimension: asked === null ? "model" : undefined,
      },
      { name: "country", text: report.country === "unknown" ? null : report.country, dimension: "country" },
      { name: "dialect", text: report.dialect ? humanize(report.dialect) : null },
      { name: "HTTP status", text: isKnown(report.status) ? String(report.status) : null },
      { name: "finish reason", text: report.finish_reason ?? null },
      { name: "answer id", text: report.response_id ?? null },
      { name: "seen", text: SEEN[report.observed ?? "events"] },
      { name: "revision", text: String(report.rev ?? 0) },
      ...(report.sample_rate ? [{ name: "sample", text: `${+(report.sample_rate * 100).toPrecision(3)} % of tabs` }] : []),
    ],
  };
}

function amounts(report: StreamReport): FieldGroup {
  const read = (value: number) => (isOpaque(report) ? null : value);
  return {
    title: "Amounts",
    entries: [
      counted("chunks", report.chunks),
      counted("events", read(report.events)),
      counted("deltas", read(report.deltas)),
      { name: "bytes", text: bytes(report.bytes) },
      counted("input tokens", report.input_tokens),
      counted("output tokens", report.output_tokens),
      counted("of them reasoning", report.reasoning_tokens),
      counted("input from cache", report.cached_tokens),
    ],
  };
}

function rhythm(report: StreamReport): FieldGroup {
  const defects = Object.entries(report.defects ?? {}).filter(([, held]) => held > 0);
  return {
    title: "Rhythm and defects",
    entries: [
      timed("first event", report.first_event_ms),
      timed("per output token", report.tpot_ms),
      timed("longest gap", report.longest_gap_ms),
      counted("stalls", isOpaque(report) ? null : (report.stalls ?? 0)),
      ...defects.map(([name, held]) => counted(`defect: ${humanize(name)}`, held)),
      timed("clock resolution", report.clock_resolution_ms),
    ],
  };
}

function way({ phases }: StreamReport): FieldGroup {
  const names = ["dns_ms", "connect_ms", "tls_ms", "wait_ms"] as const;
  const entries = names.map((name) => timed(name.replace("_ms", ""), phases?.[name]));
  return {
    title: "Before the first byte",
    entries: phases ? entries : [{ name: "network phases", text: null }],
  };
}

function server({ server: said }: StreamReport): FieldGroup {
  if (!said) return { title: "Server", entries: [{ name: "server timing", text: null }] };
  return {
    title: "Server",
    entries: [
      { name: "source", text: humanize(said.source) },
      { name: "counts from", text: said.starts_from ?? null },
      timed("queue", said.queue_ms),
      timed("first token", said.ttft_ms),
      timed("generation", said.generation_ms),
      counted("output tokens", said.output_tokens),
    ],
  };
}

function page({ page: seen, dropped }: StreamReport): FieldGroup {
  const names = ["browser", "os", "device", "connection", "visibility", "release", "route"];
  const entries: Field[] = names.map((name) => ({ name, text: seen?.[name] ?? null }));
  const lost = Object.entries(dropped ?? {}).filter(([, held]) => held > 0);
  return {
    title: "Page",
    entries: [...entries, ...lost.map(([name, held]) => counted(`dropped, ${humanize(name)}`, held))],
  };
}

function around({ around: told }: StreamReport): FieldGroup {
  if (!told) return { title: "Around it", entries: [] };
  const entries: Field[] = [
    { name: "protocol", text: told.protocol ?? null },
    timed("end noticed after", told.end_delay_ms),
    timed("page hidden for", told.hidden_ms),
    counted("long frames", told.long_frames),
    timed("together", told.long_frames_ms),
    counted("freezes", told.freezes),
    { name: "arrived while hidden", text: isKnown(told.hidden_bytes) ? bytes(told.hidden_bytes) : null },
    { name: "arrived after stop", text: isKnown(told.after_stop_bytes) ? bytes(told.after_stop_bytes) : null },
  ];
  const marks = [told.restored && "back from the cache", told.prerendered && "prerendered"].filter(Boolean);
  return { title: "Around it", entries: [...entries, ...marks.map((mark) => ({ name: "page", text: String(mark) }))] };
}

function cost({ cost: told, clock_resolution_ms }: StreamReport): FieldGroup {
  if (!told) return { title: "The probe itself", entries: [] };
  const sized = (name: string, value: MaybeNumber): Field => ({ name, text: isKnown(value) ? bytes(value) : null });
  return {
    title: "The probe itself",
    entries: [
      { name: "its time per chunk", text: perChunk(told, clock_resolution_ms) },
      sized("its memory", told.memory_bytes),
      sized("sent before this", told.sent_bytes),
    ],
  };
}

function counted(name: string, value: MaybeNumber): Field {
  return { name, text: isKnown(value) ? count(value) : null };
}

function timed(name: string, value: MaybeNumber): Field {
  return { name, text: isKnown(value) ? exactDuration(value) : null };
}

/** How much of a stream the probe could see. */
const SEEN = { events: "events", chunks: "chunks only", arrival: "events, as they arrived" };

/** Timeline of one stream: one row per moment on a common axis, and the durations of network, page and server below. */
import { useState } from "preact/hooks";

import type { StreamReport } from "../api/api-types";
import { linearTicks } from "../charts/ticks";
import { duration, exactDuration, humanize, sourceLabel, tickDuration } from "../format";
import { SegmentedControl } from "../ui/segmented-control";
import { useWidth } from "../ui/width";
import { pageLifecycleNotes } from "./page-lifecycle";
import {
  hasLongTail,
  layoutTimeline,
  type DurationRow,
  type MomentRow,
  type TimelineLayout,
  type TimelineSpan,
} from "./timeline-layout";

const ROW = 28;
const NAME = 104;
/** More characters would run into the plot. */
const NAME_CHARS = 14;
const VALUE = 164;

export function Timeline({ report }: { report: StreamReport }) {
  const [host, width] = useWidth<HTMLDivElement>(640);
  const [span, setSpan] = useState<TimelineSpan>("whole");
  const layout = layoutTimeline(report, span);
  const narrow = width < 480;
  const plot = { left: NAME, width: Math.max(80, width - NAME - (narrow ? 88 : VALUE)), right: width, narrow };
  const groups = groupsOf(layout, report);
  const first = ROW * (layout.moments.length + (layout.arrivals.length > 0 ? 2 : 1));
  const tops = groups.map((_, index) =>
    groups.slice(0, index).reduce((top, { rows }) => top + ROW * (rows.length + 1), first),
  );
  const height = groups.reduce((sum, { rows }) => sum + ROW * (rows.length + 1), first);
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <div class="figure-head">
        <h3 id="timeline-title">Timeline</h3>
        {hasLongTail(report) && (
          <SegmentedControl<TimelineSpan>
            legend="Span"
            name="span"
            options={[
              { value: "whole", label: "Whole stream" },
              { value: "first", label: "To first text" },
            ]}
            chosen={span}
            onChoose={setSpan}
          />
        )}
      </div>
      <div ref={host}>
        <svg width={width} height={height} role="img" aria-label={timelineText(layout)}>
          <Axis layout={layout} plot={plot} height={height} />
          {layout.moments.map((row, index) => (
            <Moment
              key={row.name}
              row={row}
              y={ROW * (index + 1)}
              plot={plot}
              placeholder={report.open && row.kind === "stream" ? "not yet" : "no time"}
            />
          ))}
          <Arrivals steps={layout.arrivals} bottom={first - 4} plot={plot} />
          {groups.map((group, index) => (
            <Durations key={group.tone} group={group} plot={plot} top={tops[index] ?? 0} />
          ))}
        </svg>
      </div>
      <PageLifecycleNotes report={report} />
      {layout.moments.some((row) => row.at === null) && (
        <p class="note">No time: it did not happen, or the browser hides it from the page.</p>
      )}
    </section>
  );
}

function PageLifecycleNotes({ report }: { report: StreamReport }) {
  const notes = pageLifecycleNotes(report);
  if (notes.length === 0) return null;
  return (
    <ul class="noteworthy" aria-label="Page events during the stream">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

/** Durations below the moments, with a heading. */
interface Group {
  tone: "network" | "page" | "app" | "server";
  title: string;
  rows: DurationRow[];
  overhead?: TimelineLayout["overhead"];
}

function groupsOf(layout: TimelineLayout, report: StreamReport): Group[] {
  const { network, isReused, endDelay, marks, server, layers, overhead } = layout;
  const groups: Group[] = [];
  const protocol = report.page_lifecycle?.protocol ? ` over ${report.page_lifecycle.protocol}` : "";
  if (network.length > 0)
    groups.push({
      tone: "network",
      title: `network${protocol}${isReused ? ", connection reused" : ""}`,
      rows: network,
    });
  if (endDelay) groups.push({ tone: "page", title: "page, after the end of the body", rows: [endDelay] });
  if (marks.length > 0) groups.push({ tone: "app", title: "marks of the app", rows: marks });
  if (server.length > 0)
    groups.push({
      tone: "server",
      title: `server (${sourceLabel(report.server?.source ?? "")})`,
      rows: server,
      overhead,
    });
  for (const { layer, source, rows } of layers)
    if (rows.length > 0) groups.push({ tone: "server", title: `${humanize(layer)} (${source})`, rows });
  return groups;
}

interface Plot {
  left: number;
  width: number;
  /** Right edge of the drawing. */
  right: number;
  narrow: boolean;
}

function Axis({ layout, plot, height }: { layout: TimelineLayout; plot: Plot; height: number }) {
  const x = (ms: number) => plot.left + ((ms - layout.from) / (layout.to - layout.from)) * plot.width;
  return (
    <g class="grid">
      {linearTicks(layout.to, Math.max(2, Math.floor(plot.width / 72))).map((tick) => (
        <g key={tick}>
          <line x1={round(x(tick))} x2={round(x(tick))} y1={ROW - 6} y2={height} />
          <text class="tick middle" x={x(tick)} y={12}>
            {tickDuration(tick)}
          </text>
        </g>
      ))}
    </g>
  );
}

interface MomentProps {
  row: MomentRow;
  y: number;
  plot: Plot;
  /** Text in place of an unknown time. */
  placeholder: string;
}

function Moment({ row, y, plot, placeholder }: MomentProps) {
  const { right, narrow } = plot;
  const middle = y + ROW / 2;
  if (row.at === null || row.bar === null) {
    return (
      <g class="moment unseen-moment">
        <text class="name" x={0} y={middle}>
          {row.name}
        </text>
        <text class="name" x={plot.left} y={middle}>
          {placeholder}
        </text>
      </g>
    );
  }
  const from = plot.left + row.bar.from * plot.width;
  const to = plot.left + row.bar.to * plot.width;
  return (
    <g class={`moment ${row.kind}`}>
      <text class="name" x={0} y={middle}>
        {row.name}
      </text>
      <rect x={from} y={middle - 3} width={Math.max(0, to - from)} height={6} rx={1} />
      <circle cx={to} cy={middle} r={4} />
      <text class="at end" x={right - (narrow ? 0 : 72)} y={middle}>
        {exactDuration(row.at)}
      </text>
      {!narrow && row.sincePrevious !== null && (
        <text class="since end" x={right} y={middle}>
          {row.sincePrevious < 0 ? "" : "+"}
          {duration(row.sincePrevious)}
        </text>
      )}
    </g>
  );
}

function Arrivals({ steps, bottom, plot }: { steps: TimelineLayout["arrivals"]; bottom: number; plot: Plot }) {
  if (steps.length === 0) return null;
  const height = ROW - 8;
  return (
    <g class="moment stream">
      <text class="name" x={0} y={bottom - height / 2}>
        text
      </text>
      {steps.map(({ bar: { from, to }, share }, at) => (
        <rect
          key={at}
          x={plot.left + from * plot.width}
          y={bottom - share * height}
          width={(to - from) * plot.width}
          height={share * height}
        />
      ))}
    </g>
  );
}

function Durations({ group, plot, top }: { group: Group; plot: Plot; top: number }) {
  const { right, narrow } = plot;
  const span = ({ from, to }: { from: number; to: number }) => ({
    x: plot.left + from * plot.width,
    width: Math.max(1, (to - from) * plot.width),
  });
  const end = top + ROW * (group.rows.length + 1);
  return (
    <g class={`stretches ${group.tone}`}>
      {group.overhead && (
        <rect class="overhead" {...span(group.overhead.bar)} y={top + 4} height={end - top - 4} />
      )}
      <text class="group" x={0} y={top + ROW / 2 + 4}>
        {group.title}
      </text>
      {group.overhead && (
        <text class="since end" x={right} y={top + ROW / 2 + 4}>
          network overhead {duration(group.overhead.ms)}
        </text>
      )}
      {group.rows.map((row, index) => {
        const middle = top + ROW * (index + 1) + ROW / 2;
        return (
          <g key={index}>
            <text class="name" x={0} y={middle}>
              <title>{row.name}</title>
              {row.name.length > NAME_CHARS ? `${row.name.slice(0, NAME_CHARS - 1)}…` : row.name}
            </text>
            <rect {...span(row.bar)} y={middle - 4} height={8} rx={1} />
            <text class="at end" x={right - (narrow ? 0 : 72)} y={middle}>
              {exactDuration(row.ms)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function timelineText({ moments, arrivals, network, endDelay, marks, server }: TimelineLayout): string {
  const parts = moments.map(({ name, at }) => `${name} ${at === null ? "no time" : exactDuration(at)}`);
  const durations = (side: string, rows: DurationRow[]) =>
    rows.map(({ name, ms }) => `${side} ${name} ${exactDuration(ms)}`);
  const after = endDelay ? durations("page", [endDelay]) : [];
  const steps = arrivals.length > 0 ? [`text in ${arrivals.filter(({ share }) => share > 0).length} of ${arrivals.length} steps`] : [];
  return [
    ...parts,
    ...steps,
    ...durations("network", network),
    ...after,
    ...durations("mark", marks),
    ...durations("server", server),
  ].join(", ");
}

function round(x: number): number {
  return Math.round(x) + 0.5;
}

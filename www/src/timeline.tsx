/** One report in, its moments as a drawing out: a row each on one axis, the server's durations below. */
import { useState } from "preact/hooks";

import type { StreamReport } from "./answers";
import { Choice } from "./choice";
import { duration, exactDuration, words } from "./format";
import { hasLongTail, layOut, type MomentRow, type Span, type Timeline as Layout } from "./moments";
import { linearTicks } from "./ticks";
import { useWidth } from "./width";

const ROW = 28;
const NAME = 104;
const VALUE = 164;

export function Timeline({ report }: { report: StreamReport }) {
  const [host, width] = useWidth<HTMLDivElement>(640);
  const [span, setSpan] = useState<Span>("whole");
  const layout = layOut(report, span);
  const valueWidth = width < 480 ? 88 : VALUE;
  const plot = { left: NAME, width: Math.max(80, width - NAME - valueWidth) };
  const serverTop = ROW * (layout.moments.length + 1);
  const height =
    ROW * (layout.moments.length + 1) + (layout.server.length > 0 ? ROW * (layout.server.length + 1) : 0);
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <div class="figure-head">
        <h3 id="timeline-title">Timeline</h3>
        {hasLongTail(report) && (
          <Choice<Span>
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
        <svg width={width} height={height} role="img" aria-label={describe(layout)}>
          <Axis layout={layout} plot={plot} height={height} />
          {layout.moments.map((row, index) => (
            <Moment
              key={row.name}
              row={row}
              y={ROW * (index + 1)}
              plot={plot}
              right={width}
              narrow={width < 480}
              missing={report.open && row.kind === "stream" ? "not yet" : "not visible"}
            />
          ))}
          {layout.server.length > 0 && (
            <Server layout={layout} report={report} plot={plot} top={serverTop} right={width} />
          )}
        </svg>
      </div>
      {layout.moments.some((row) => row.at === null) && (
        <p class="note">Not visible: it did not happen, or the browser hides it from the page.</p>
      )}
    </section>
  );
}

interface Plot {
  left: number;
  width: number;
}

function Axis({ layout, plot, height }: { layout: Layout; plot: Plot; height: number }) {
  const x = (ms: number) => plot.left + ((ms - layout.from) / (layout.to - layout.from)) * plot.width;
  return (
    <g class="grid">
      {linearTicks(layout.to, Math.max(2, Math.floor(plot.width / 72))).map((tick) => (
        <g key={tick}>
          <line x1={round(x(tick))} x2={round(x(tick))} y1={ROW - 6} y2={height} />
          <text class="tick middle" x={x(tick)} y={12}>
            {duration(tick)}
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
  right: number;
  narrow: boolean;
  /** What stands where the moment is not known. */
  missing: string;
}

function Moment({ row, y, plot, right, narrow, missing }: MomentProps) {
  const middle = y + ROW / 2;
  if (row.at === null || row.bar === null) {
    return (
      <g class="moment unseen-moment">
        <text class="name" x={0} y={middle}>
          {row.name}
        </text>
        <text class="name" x={plot.left} y={middle}>
          {missing}
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
      {!narrow && row.since !== null && (
        <text class="since end" x={right} y={middle}>
          +{duration(row.since)}
        </text>
      )}
    </g>
  );
}

function Server({
  layout,
  report,
  plot,
  top,
  right,
}: {
  layout: Layout;
  report: StreamReport;
  plot: Plot;
  top: number;
  right: number;
}) {
  const span = ({ from, to }: { from: number; to: number }) => ({
    x: plot.left + from * plot.width,
    width: Math.max(1, (to - from) * plot.width),
  });
  const rowsEnd = top + ROW * (layout.server.length + 1);
  return (
    <g class="server">
      {layout.overhead && (
        <rect class="overhead" {...span(layout.overhead.bar)} y={top + 4} height={rowsEnd - top - 4} />
      )}
      <text class="group" x={0} y={top + ROW / 2 + 4}>
        server, from {words(report.server?.source ?? "")}
      </text>
      {layout.overhead && (
        <text class="since end" x={right} y={top + ROW / 2 + 4}>
          overhead {duration(layout.overhead.ms)}
        </text>
      )}
      {layout.server.map((row, index) => {
        const middle = top + ROW * (index + 1) + ROW / 2;
        return (
          <g key={row.name}>
            <text class="name" x={0} y={middle}>
              {row.name}
            </text>
            <rect {...span(row.bar)} y={middle - 4} height={8} rx={1} />
            <text class="at end" x={right - (right - plot.left - plot.width > 100 ? 72 : 0)} y={middle}>
              {exactDuration(row.ms)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function describe(layout: Layout): string {
  const parts = layout.moments.map(
    ({ name, at }) => `${name} ${at === null ? "not visible" : exactDuration(at)}`,
  );
  const server = layout.server.map(({ name, ms }) => `server ${name} ${exactDuration(ms)}`);
  return [...parts, ...server].join(", ");
}

function round(x: number): number {
  return Math.round(x) + 0.5;
}

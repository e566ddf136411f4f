/** Heatmap of a metric: the whole distribution over time on a log axis. */
import { useMemo, useState } from "preact/hooks";

import type { Heatmap as HeatmapAnswer } from "../api/api-types";
import { count, duration, percent, tickDuration, timeInterval } from "../format";
import { useWidth } from "../ui/width";
import { BrushSpan, useBrush } from "./brush";
import { slowTarget } from "./chart-captions";
import { cellsOf, SHADES, type Cell } from "./heatmap-scale";
import { markers } from "./markers";
import { logTicks, ticksWithin, timeLabel, timeTicks } from "./ticks";

const LEFT = 64;
const RIGHT = 8;
const FOOT = 24;
const HEIGHT = 304;
/** More than the mean width of a label's characters. */
const CHARACTER = 7;

interface HeatmapProps {
  answer: HeatmapAnswer;
  label: string;
  /** Receives the times that the user dragged over. */
  onBrush: (from: number, to: number) => void;
}

export function Heatmap({ answer, label, onBrush }: HeatmapProps) {
  const [host, width] = useWidth<HTMLDivElement>(960);
  const [hovered, setHovered] = useState<Cell | null>(null);
  const cells = useMemo(() => cellsOf(answer), [answer]);
  const scales = scalesOf(answer, width);
  const target = slowTarget(answer);
  const brushed = (from: number, to: number) => onBrush(scales.time(from), scales.time(to));
  const [brush, span] = useBrush(brushed, LEFT, width - RIGHT);
  // Memoized: hovering must not redraw thousands of cells.
  const rects = useMemo(() => cells.map((cell, at) => rectOf(cell, at, scales, answer.step_ms)), [cells, width]);
  const point = (event: MouseEvent) => {
    const at = event.target instanceof SVGRectElement ? event.target.dataset["at"] : undefined;
    setHovered(at === undefined ? null : (cells[Number(at)] ?? null));
  };
  return (
    <div class="heat" ref={host} onMouseLeave={() => setHovered(null)}>
      <svg width={width} height={HEIGHT} role="img" aria-label={label} onMouseOver={point} {...brush}>
        {rects}
        <BrushSpan span={span} height={HEIGHT - FOOT} />
        {target !== null && target > scales.low && target < scales.high && (
          <g class="mark target quiet">
            <line x1={LEFT} x2={width - RIGHT} y1={scales.y(target)} y2={scales.y(target)} />
            <text class="end" x={width - RIGHT - 4} y={scales.y(target) - 6}>
              target {duration(target)}
            </text>
          </g>
        )}
        <Markers answer={answer} x={scales.x} />
        <Axes answer={answer} scales={scales} width={width} />
      </svg>
      <p class="bars-over" aria-hidden="true">
        {hovered && cellText(hovered, answer)}
      </p>
    </div>
  );
}

function rectOf(cell: Cell, at: number, scales: Scales, step: number) {
  return (
    <rect
      key={`${cell.timestamp_ms}/${cell.lower_ms}`}
      class={`heat-${cell.shade}`}
      data-at={at}
      x={scales.x(cell.timestamp_ms)}
      y={scales.y(cell.upper_ms)}
      width={Math.max(1, scales.x(cell.timestamp_ms + step) - scales.x(cell.timestamp_ms))}
      height={Math.max(1, scales.y(cell.lower_ms) - scales.y(cell.upper_ms))}
    />
  );
}

/** A line at each event, and its label if it fits before the next one. */
function Markers({ answer: { from, to }, x }: { answer: HeatmapAnswer; x: Scales["x"] }) {
  const shown = markers.value.filter(({ at }) => at >= from && at <= to).sort((one, other) => one.at - other.at);
  return shown.map(({ at, label }, index) => (
    <g key={index} class="mark">
      <line x1={x(at)} x2={x(at)} y1={0} y2={HEIGHT - FOOT} />
      {label.length * CHARACTER < x(shown[index + 1]?.at ?? to) - x(at) && (
        <text x={x(at) + 4} y={HEIGHT - FOOT - 4}>
          {label}
        </text>
      )}
    </g>
  ));
}

/** Legend of the shades. The cell with the most samples is the darkest. */
export function HeatLegend({ answer }: { answer: HeatmapAnswer }) {
  const fullest = Math.max(0, ...answer.points.flatMap(({ counts }) => counts ?? []));
  return (
    <p class="heat-legend">
      <span>1</span>
      {SHADES.map((shade) => (
        <span key={shade} class={`heat-key heat-${shade}`} />
      ))}
      <span>{count(fullest)} samples per cell</span>
    </p>
  );
}

function Axes({ answer, scales, width }: { answer: HeatmapAnswer; scales: Scales; width: number }) {
  const most = Math.max(2, Math.floor((width - LEFT) / 80));
  const { ticks, step } = timeTicks(answer.from, answer.to, most);
  return (
    <>
      {logTicks(scales.low, scales.high, 8).map((tick) => (
        <text key={tick} class="tick end" x={LEFT - 8} y={scales.y(tick)}>
          {tickDuration(tick)}
        </text>
      ))}
      <line class="axis" x1={LEFT} x2={width - RIGHT} y1={HEIGHT - FOOT + 0.5} y2={HEIGHT - FOOT + 0.5} />
      {ticksWithin(ticks, scales.x, width).map((tick) => (
        <text key={tick} class="tick middle" x={scales.x(tick)} y={HEIGHT - FOOT + 16}>
          {timeLabel(tick, step)}
        </text>
      ))}
    </>
  );
}

interface Scales {
  low: number;
  high: number;
  x: (time: number) => number;
  /** Inverse of `x`. */
  time: (x: number) => number;
  y: (value: number) => number;
}

function scalesOf({ buckets, from, to, step_ms: step, points }: HeatmapAnswer, width: number): Scales {
  const shown = buckets.filter(({ lower_ms }) => lower_ms > 0);
  const low = Math.min(...shown.map(({ lower_ms }) => lower_ms), 1000);
  const high = Math.max(...shown.map(({ upper_ms }) => upper_ms), 1001);
  const until = Math.max(to, (points.at(-1)?.timestamp_ms ?? 0) + step);
  const reach = Math.log(high / low);
  const bottom = HEIGHT - FOOT;
  return {
    low,
    high,
    // A first step that began before the range is clipped to the range.
    x: (time) => Math.round(LEFT + Math.max(0, (time - from) / (until - from)) * (width - LEFT - RIGHT)),
    time: (x) => from + ((x - LEFT) / (width - LEFT - RIGHT)) * (until - from),
    // A value below the lowest bucket has no position on a log axis: it is drawn at the bottom.
    y: (value) => (value <= low ? bottom : Math.round(bottom - (Math.log(value / low) / reach) * (bottom - 8))),
  };
}

function cellText(cell: Cell, { step_ms, to }: HeatmapAnswer): string {
  const range = `${duration(cell.lower_ms)} – ${duration(cell.upper_ms)}`;
  const share = `${count(cell.count)} of ${count(cell.n)} (${percent(cell.count / cell.n)})`;
  return `${timeInterval(cell.timestamp_ms, step_ms, to)}, ${range}: ${share}`;
}

/** Buckets as bars on a log axis, with percentiles and targets as marks. */
import { useState } from "preact/hooks";

import type { Bucket } from "../api/api-types";
import { count, duration, percent, shortCount, tickDuration } from "../format";
import { useWidth } from "../ui/width";
import { linearTicks, logTicks } from "./ticks";

export interface Mark {
  label: string;
  value: number;
  /** CSS class of the colour. */
  tone: string;
  kind: "percentile" | "target";
}

interface BarsProps {
  buckets: Bucket[];
  marks: Mark[];
  /** Buckets above this value are drawn as slow. */
  slowFrom?: number | null;
  height: number;
  label: string;
}

const LEFT = 40;
const RIGHT = 8;
const FOOT = 24;
const LANE = 16;

export function Bars({ buckets, marks, slowFrom = null, height, label }: BarsProps) {
  const [host, width] = useWidth<HTMLDivElement>(560);
  const [hovered, setHovered] = useState<Bucket | null>(null);
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  const scale = logScale(buckets, marks, LEFT, width - RIGHT);
  const placed = placeMarks(marks, scale.x, LEFT, width - RIGHT);
  const top = 8 + LANE * Math.max(1, ...placed.map((mark) => mark.lane + 1));
  const bottom = height - FOOT;
  const maxCount = Math.max(1, ...buckets.map((bucket) => bucket.count));
  const y = (n: number) => bottom - (n / maxCount) * (bottom - top);
  return (
    <div class="bars" ref={host} onMouseLeave={() => setHovered(null)}>
      <svg width={width} height={height} role="img" aria-label={label}>
        {linearTicks(maxCount, 4)
          .filter(Number.isInteger)
          .map((tick) => (
            <g key={tick} class="grid">
              <line x1={LEFT} x2={width - RIGHT} y1={y(tick) + 0.5} y2={y(tick) + 0.5} />
              <text x={LEFT - 8} y={y(tick)} class="tick end">
                {shortCount(tick)}
              </text>
            </g>
          ))}
        {buckets.map((bucket) => {
          const x = scale.x(bucket.lower_ms);
          const w = Math.max(1, scale.x(bucket.upper_ms) - x - 1);
          const isSlow = slowFrom !== null && bucket.lower_ms >= slowFrom * 0.98;
          return (
            <g
              key={bucket.lower_ms}
              class={`bar${isSlow ? " slow" : ""}${hovered === bucket ? " over" : ""}`}
              onMouseEnter={() => setHovered(bucket)}
            >
              <rect class="reach" x={x} y={top} width={w + 1} height={bottom - top} />
              <rect
                x={x}
                y={Math.min(y(bucket.count), bottom - 1.5)}
                width={w}
                height={Math.max(1.5, bottom - y(bucket.count))}
              />
            </g>
          );
        })}
        <line class="axis" x1={LEFT} x2={width - RIGHT} y1={bottom + 0.5} y2={bottom + 0.5} />
        {logTicks(scale.low, scale.high, Math.max(3, Math.floor((width - LEFT) / 64))).map((tick) => (
          <text key={tick} class="tick middle" x={scale.x(tick)} y={bottom + 16}>
            {tickDuration(tick)}
          </text>
        ))}
        {placed.map((mark) => (
          <g key={mark.label} class={`mark ${mark.kind} ${mark.tone}`}>
            <line x1={mark.x} x2={mark.x} y1={8 + LANE * mark.lane} y2={bottom} />
            <text
              class={mark.flips ? "end" : ""}
              x={mark.x + (mark.flips ? -5 : 5)}
              y={8 + LANE * mark.lane + 9}
            >
              {mark.label}
            </text>
          </g>
        ))}
      </svg>
      <p class="bars-over" aria-hidden="true">
        {hovered && bucketText(hovered, total)}
      </p>
    </div>
  );
}

function bucketText({ lower_ms, upper_ms, count: n }: Bucket, total: number): string {
  return `${duration(lower_ms)} – ${duration(upper_ms)}: ${count(n)} (${percent(n / total)})`;
}

function logScale(buckets: Bucket[], marks: Mark[], left: number, right: number) {
  const ends = [
    ...buckets.flatMap((bucket) => [bucket.lower_ms, bucket.upper_ms]),
    ...marks.map((mark) => mark.value),
  ];
  const shown = ends.filter((end) => end > 0);
  const low = (shown.length ? Math.min(...shown) : 1) / 1.15;
  const high = (shown.length ? Math.max(...shown) : 1000) * 1.15;
  const reach = Math.log(high / low);
  // A value below the clock's resolution has no position on a log axis: it is drawn at the left end.
  const x = (value: number) =>
    value <= low ? left : left + (Math.log(value / low) / reach) * (right - left);
  return { low, high, x };
}

export interface PlacedMark extends Mark {
  x: number;
  lane: number;
  flips: boolean;
}

// Upper bound of a letter's width at 11 px.
const LETTER = 7;

/** Gives each label the highest lane without an overlap. */
export function placeMarks(
  marks: Mark[],
  x: (value: number) => number,
  left: number,
  right: number,
): PlacedMark[] {
  const taken: { from: number; to: number; lane: number }[] = [];
  return [...marks]
    .sort((a, b) => a.value - b.value)
    .map((mark) => {
      const at = Math.round(x(mark.value)) + 0.5;
      const reach = mark.label.length * LETTER + 10;
      const flips = at + reach > right && at - reach > left;
      const [from, to] = flips ? [at - reach, at] : [at, at + reach];
      let lane = 0;
      while (taken.some((other) => other.lane === lane && from < other.to && other.from < to)) lane++;
      taken.push({ from, to, lane });
      return { ...mark, x: at, lane, flips };
    });
}

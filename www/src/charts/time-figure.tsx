/** A figure with lines over time. Its tooltip and its table have the same values. */
import { useMemo } from "preact/hooks";

import { count, dateTime, timeInterval, type MaybeNumber } from "../format";
import { hasFewSamples } from "../metric";
import { zoomTo } from "../state";
import { earlierLines, earlierReadout, type EarlierLine } from "./earlier";
import { Figure, type FigureProps } from "./figure";
import { Legend, LineChart, type Readout } from "./line-chart";
import type { PlotSpec } from "./plot";

export interface TimeLine<Key extends string> {
  label: string;
  /** Field of the points. */
  key: Key;
  /** Class in the legend and the tooltip, and name of the CSS variable. */
  colour: string;
}

export type TimePoint<Key extends string> = { timestamp_ms: number; n?: number } & { [K in Key]?: MaybeNumber };

/** An answer over time. `earlier` has one point for each of the range. */
interface TimeSeries<Point> {
  points: readonly Point[];
  earlier?: readonly Point[] | null;
  step_ms: number;
  from: number;
  to: number;
}

interface TimeFigureProps<Key extends string, Point> extends Omit<FigureProps, "table"> {
  series: TimeSeries<Point>;
  lines: readonly TimeLine<Key>[];
  /** Lines of the comparison period. */
  earlier?: readonly EarlierLine<Key>[];
  /** What `n` counts. It is drawn as bars, and few samples as a dashed line. Without it, every value is certain. */
  samples?: string;
  scale?: PlotSpec["scale"];
  targets?: PlotSpec["targets"];
  /** Name of the targets in the legend. */
  targetName?: string;
  text: (value: MaybeNumber) => string;
  /** Text of a value on the axis, if it differs. */
  tick?: (value: number) => string;
  /** Further values of a point. */
  more?: (point: Point) => Readout["values"];
}

export function TimeFigure<Key extends string, Point extends TimePoint<Key>>(props: TimeFigureProps<Key, Point>) {
  const { series, lines, earlier = [], samples, targetName, text, more, children, ...figure } = props;
  const { points, step_ms: step, to } = series;
  const spec = useMemo(() => plotOf(props), [series, lines]);
  const valuesAt = (at: number): Readout["values"] => {
    const point = points[at];
    if (!point) return [];
    return [
      ...lines.map(({ label, key, colour }) => ({ label, text: text(point[key]), colour })),
      ...earlierReadout(series.earlier?.[at], earlier, text),
      ...(more?.(point) ?? []),
      ...(samples ? [{ label: samples, text: count(point.n) }] : []),
    ];
  };
  return (
    <Figure
      {...figure}
      table={{
        columns: ["Time", ...valuesAt(0).map(({ label }) => label)],
        rows: () =>
          points
            .map(({ timestamp_ms }, at) => [dateTime(timestamp_ms, to), ...valuesAt(at).map((value) => value.text)])
            .reverse(),
      }}
    >
      <Legend
        entries={[
          ...lines,
          ...(series.earlier ? earlier : []),
          ...(targetName ? [{ label: targetName, colour: "target" }] : []),
          ...(samples ? [{ label: samples, colour: "volume" }] : []),
        ]}
      />
      <div class="plot-frame">
        <LineChart
          spec={spec}
          label={figure.title}
          readout={(at) => {
            const point = points[at];
            return point ? { heading: timeInterval(point.timestamp_ms, step, to), values: valuesAt(at) } : null;
          }}
          onBrush={zoomTo}
        />
      </div>
      {children}
    </Figure>
  );
}

function plotOf<Key extends string, Point extends TimePoint<Key>>({
  series,
  lines,
  earlier = [],
  samples,
  scale = "linear",
  targets = [],
  text,
  tick = text,
}: TimeFigureProps<Key, Point>): PlotSpec {
  const { points } = series;
  const isLowSample = points.map(({ n }) => samples !== undefined && hasFewSamples(n));
  return {
    ...timesOf(series),
    scale,
    lines: [
      ...earlierLines(series.earlier, earlier).map((line) => (samples ? line : { ...line, isLowSample })),
      ...lines.map(({ label, key, colour }) => ({
        label,
        colour: `--${colour}`,
        values: points.map((point) => point[key] ?? null),
        width: 1.75,
      })),
    ],
    targets,
    isLowSample,
    ...(samples && {
      volume: { streams: points.map(({ n }) => n ?? null), errors: points.map(() => 0), isRunning: false },
    }),
    format: tick,
  };
}

/** The middle of each step, and the ends of the axis. */
export function timesOf({ points, step_ms: step, from, to }: TimeSeries<{ timestamp_ms: number }>) {
  return {
    times: points.map((point) => point.timestamp_ms + step / 2),
    from,
    to: Math.max(to, (points.at(-1)?.timestamp_ms ?? 0) + step),
  };
}

/** Columns of a uPlot chart. Points with few samples get a column of their own, which is drawn dashed. */

type Values = (number | null)[];

export interface Volume {
  streams: Values;
  errors: Values;
  /** The last step is not over, so its bar is hollow. */
  isRunning: boolean;
}

/** The part of a plot that its columns depend on. */
interface PlotData {
  /** Unix milliseconds. */
  times: number[];
  /** `isLowSample` of a line replaces that of the plot. */
  lines: { values: Values; isLowSample?: boolean[] }[];
  isLowSample: boolean[];
  volume?: Volume;
  scale: "log" | "linear";
}

/** Times in seconds, then the volume with its unfinished last step apart, then a solid and a dashed column per line. */
export function plotColumns(spec: PlotData): Values[] {
  const lines = spec.lines.flatMap((line) => {
    const lowest = spec.scale === "log" ? LOG_AXIS_MIN : -Infinity;
    const values = line.values.map((value) => (value === null ? null : Math.max(value, lowest)));
    const isLowSample = line.isLowSample ?? spec.isLowSample;
    return [solidValues(values, isLowSample), dashedValues(values, isLowSample)];
  });
  const { streams, errors, isRunning } = spec.volume ?? { streams: [], errors: [], isRunning: false };
  const isUnfinished = (i: number) => isRunning && i === spec.times.length - 1;
  const finished = streams.map((n, i) => (isUnfinished(i) ? null : n));
  const running = streams.map((n, i) => (isUnfinished(i) ? n : null));
  const volume = spec.volume ? [finished, running, errors] : [];
  return [spec.times.map((time) => time / 1000), ...volume, ...lines];
}

// A log axis has no zero. A tenth of a millisecond is the finest resolution of a page's clock.
export const LOG_AXIS_MIN = 0.1;

function solidValues(values: Values, isLowSample: boolean[]): Values {
  return values.map((value, i) => (isLowSample[i] ? null : value));
}

/** Points with few samples and their neighbours, so that the dashes meet the solid line. */
function dashedValues(values: Values, isLowSample: boolean[]): Values {
  return values.map((value, i) => (isLowSample[i] || isLowSample[i - 1] || isLowSample[i + 1] ? value : null));
}

/** Points without a neighbour, which no line connects. */
export function isolatedPoints(values: Values): number[] {
  return [...values.keys()].filter(
    (i) => values[i] != null && values[i - 1] == null && values[i + 1] == null,
  );
}

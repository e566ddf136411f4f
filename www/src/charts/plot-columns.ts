/** A plot's lines in, the columns that draw them out: what rests on few samples stands in columns of its own. */

type Values = (number | null)[];

/** What of a plot makes its columns. */
interface PlotData {
  /** Unix milliseconds. */
  times: number[];
  lines: { values: Values }[];
  isLowSample: boolean[];
  volume?: { streams: number[]; errors: number[] };
}

/**
 * uPlot's columns: times in seconds, then the volume, its last step apart as that is not over, then each line as a
 * solid and a thin one.
 */
export function plotColumns(spec: PlotData): Values[] {
  const lines = spec.lines.flatMap((line) => {
    const values = line.values.map((value) => (value === null ? null : Math.max(value, LOG_AXIS_MIN)));
    return [solidValues(values, spec.isLowSample), dashedValues(values, spec.isLowSample)];
  });
  const isLast = (i: number) => i === spec.times.length - 1;
  const { streams, errors } = spec.volume ?? { streams: [], errors: [] };
  const finished = streams.map((n, i) => (isLast(i) ? null : n));
  const running = streams.map((n, i) => (isLast(i) ? n : null));
  const volume = spec.volume ? [finished, running, errors] : [];
  return [spec.times.map((time) => time / 1000), ...volume, ...lines];
}

// A log axis has no zero; a tenth of a millisecond is the finest step of any page's clock.
export const LOG_AXIS_MIN = 0.1;

function solidValues(values: Values, isLowSample: boolean[]): Values {
  return values.map((value, i) => (isLowSample[i] ? null : value));
}

/** Thin points and their neighbours, so that the dashes meet the solid line. */
function dashedValues(values: Values, isLowSample: boolean[]): Values {
  return values.map((value, i) => (isLowSample[i] || isLowSample[i - 1] || isLowSample[i + 1] ? value : null));
}

/** Points without a neighbour: no line shows them. */
export function isolatedPoints(values: Values): number[] {
  return [...values.keys()].filter(
    (i) => values[i] != null && values[i - 1] == null && values[i + 1] == null,
  );
}

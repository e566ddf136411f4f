/** A plot's lines in, the columns that draw them out: what rests on few samples stands in columns of its own. */

type Values = (number | null)[];

/** What of a plot makes its columns. */
interface Drawn {
  /** Unix milliseconds. */
  times: number[];
  lines: { values: Values }[];
  isThin: boolean[];
  volume?: { streams: number[]; errors: number[] };
}

/**
 * uPlot's columns: times in seconds, then the volume, its last step apart as that is not over, then each line as a
 * solid and a thin one.
 */
export function columns(spec: Drawn): Values[] {
  const lines = spec.lines.flatMap((line) => {
    const values = line.values.map((value) => (value === null ? null : Math.max(value, LEAST)));
    return [solidPart(values, spec.isThin), thinPart(values, spec.isThin)];
  });
  const isLast = (i: number) => i === spec.times.length - 1;
  const { streams, errors } = spec.volume ?? { streams: [], errors: [] };
  const over = streams.map((held, i) => (isLast(i) ? null : held));
  const running = streams.map((held, i) => (isLast(i) ? held : null));
  const volume = spec.volume ? [over, running, errors] : [];
  return [spec.times.map((time) => time / 1000), ...volume, ...lines];
}

// A log axis has no zero; a tenth of a millisecond is the finest step of any page's clock.
export const LEAST = 0.1;

function solidPart(values: Values, isThin: boolean[]): Values {
  return values.map((value, i) => (isThin[i] ? null : value));
}

/** Thin points and their neighbours, so that the dashes meet the solid line. */
function thinPart(values: Values, isThin: boolean[]): Values {
  return values.map((value, i) => (isThin[i] || isThin[i - 1] || isThin[i + 1] ? value : null));
}

/** Points without a neighbour: no line shows them. */
export function lonely(values: Values): number[] {
  return [...values.keys()].filter(
    (i) => values[i] != null && values[i - 1] == null && values[i + 1] == null,
  );
}

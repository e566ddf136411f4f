/** Kaplan–Meier estimates over stream reports: percentiles with censored waits, and the abandonment curve. */

const ABANDONED = ["aborted", "abandoned"];
const UNCOUNTED = ["complete", "unobserved"];

/** The duration and the end of every wait for a token. */
function waitsOf(streams, metric) {
  return streams
    .flatMap((s) => {
      if (s[`${metric}_ms`] !== undefined) return [{ ms: s[`${metric}_ms`], end: "reached" }];
      if (s.open || s.close_ms === undefined || UNCOUNTED.includes(s.outcome)) return [];
      return [{ ms: s.close_ms, end: ABANDONED.includes(s.outcome) ? "abandoned" : "failed_before" }];
    })
    .sort((a, b) => a.ms - b.ms);
}

/** After each wait: the estimated share of streams that had `event` by then. */
function estimate(waits, event) {
  let without = 1;
  let variance = 0;
  return waits.map(({ ms, end }, at) => {
    const atRisk = waits.length - at;
    if (end === event) {
      without *= (atRisk - 1) / atRisk;
      variance += 1 / (atRisk * (atRisk - 1));
    }
    return { ms, end, at_risk: atRisk - 1, share: 1 - without, variance };
  });
}

const countEnds = (waits, end) => waits.filter((wait) => wait.end === end).length;

export function kmAdjusted(streams, metric) {
  if (metric !== "ttfv" && metric !== "ttft") return {};
  const waits = waitsOf(streams, metric);
  const curve = estimate(waits, "reached").filter(({ end }) => end === "reached");
  const at = (q) => curve.find(({ share }) => share >= q - 1e-9)?.ms;
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map(at);
  const [abandoned, failed_before] = ["abandoned", "failed_before"].map((end) => countEnds(waits, end));
  return { km_adjusted: { abandoned, failed_before, p50_ms, p95_ms, p99_ms } };
}

export function abandonmentCurve(streams, metric) {
  const waits = waitsOf(streams, metric);
  const byBucket = new Map();
  for (const step of estimate(waits, "abandoned")) byBucket.set(Math.ceil(Math.log2(step.ms) * 8), step);
  const points = [...byBucket].map(([bucket, { at_risk, share, variance }]) => {
    const factor = Math.exp((1.96 * Math.sqrt(variance)) / -Math.log(1 - share));
    const isKnown = share > 0 && share < 1;
    return {
      ...{ wait_ms: 2 ** (bucket / 8), at_risk, share },
      ...(isKnown && { lower: 1 - (1 - share) ** (1 / factor), upper: 1 - (1 - share) ** factor }),
    };
  });
  const ends = ["reached", "abandoned", "failed_before"];
  const [reached, abandoned, failed_before] = ends.map((end) => countEnds(waits, end));
  return { metric, relative_error: 0.0109, at_risk: waits.length, reached, abandoned, failed_before, points };
}

/** Histogram of a metric with percentiles and targets. */
import type { HistogramAnswer } from "../api/api-types";
import { METRIC_LABELS } from "../api/metrics";
import { count, duration, isKnown, percent } from "../format";
import { metricPhrase, QUANTILES, targetsOf } from "../metric";
import { Bars, type Mark } from "./bars";
import { histogramCaption, slowTarget } from "./chart-captions";
import { Figure } from "./figure";

export function Histogram({ answer }: { answer: HistogramAnswer }) {
  const phrase = metricPhrase(answer.metric);
  return (
    <Figure
      chart="histogram"
      title={`Distribution of ${phrase}`}
      meaning={METRIC_LABELS[answer.metric].meaning}
      caption={histogramCaption(answer)}
      table={{ columns: ["Above", "Up to", "Count", "Share"], rows: () => tableRows(answer) }}
    >
      {answer.n === 0 ? (
        <p class="nothing">No samples in this time range.</p>
      ) : (
        <Bars
          buckets={answer.buckets}
          marks={marksOf(answer)}
          slowFrom={slowTarget(answer)}
          height={304}
          label={`Histogram of ${phrase}, ${count(answer.n)} samples`}
        />
      )}
    </Figure>
  );
}

function marksOf(answer: HistogramAnswer): Mark[] {
  const percentiles = QUANTILES.flatMap(({ name, key, colour }): Mark[] => {
    const value = answer[key];
    return isKnown(value)
      ? [{ label: `${name} ${duration(value)}`, value, tone: colour, kind: "percentile" }]
      : [];
  });
  const slow = slowTarget(answer);
  const targets = targetsOf(answer.metric, answer.targets)
    .filter(({ value }) => value === slow)
    .map(({ quantile, value }): Mark => ({
      label: `target ${duration(value)}`,
      value,
      tone: quantile ?? "quiet",
      kind: "target",
    }));
  return [...percentiles, ...targets];
}

function tableRows({ buckets, n: total }: HistogramAnswer): string[][] {
  return buckets.map(({ lower_ms, upper_ms, count: n }) => [
    duration(lower_ms),
    duration(upper_ms),
    count(n),
    percent(n / total),
  ]);
}

/** Streams in flight over time, with the number that the service can serve. */
import { useMemo } from "preact/hooks";

import type { Timeseries } from "../api/api-types";
import { GLOSSARY } from "../api/glossary";
import { stepLabel } from "../charts/chart-captions";
import { earlierLines, earlierReadout, type EarlierLine } from "../charts/earlier";
import { Figure } from "../charts/figure";
import { Legend, LineChart } from "../charts/line-chart";
import type { PlotSpec } from "../charts/plot";
import { ABSENT, dateTime, isKnown, timeInterval, type MaybeNumber } from "../format";
import { zoomTo } from "../state";

const TITLE = "Streams in flight";

const EARLIER: readonly EarlierLine<"in_flight">[] = [{ label: "earlier", key: "in_flight", colour: "earlier-p50" }];

export function InFlight({ series }: { series: Timeseries }) {
  const spec = useMemo(() => plotOf(series), [series]);
  const { points, earlier, step_ms: step, to } = series;
  return (
    <Figure
      chart="in-flight"
      title={TITLE}
      meaning={GLOSSARY["in flight"]}
      caption={caption(series)}
      table={{
        columns: ["Time", "In flight"],
        rows: () => points.map((point) => [dateTime(point.timestamp_ms, to), mean(point.in_flight)]).reverse(),
      }}
    >
      {earlier && <Legend entries={[{ label: "in flight", colour: "client" }, ...EARLIER]} />}
      <div class="plot-frame">
        <LineChart
          spec={spec}
          label={TITLE}
          readout={(index) => {
            const point = points[index];
            if (!point) return null;
            const values = [
              { label: "in flight", text: mean(point.in_flight), colour: "client" },
              ...earlierReadout(earlier?.[index], EARLIER, mean),
            ];
            return { heading: timeInterval(point.timestamp_ms, step, to), values };
          }}
          onBrush={zoomTo}
        />
      </div>
    </Figure>
  );
}

function plotOf({ points, earlier, step_ms: step, from, to, targets }: Timeseries): PlotSpec {
  const cap = targets.in_flight_cap;
  // Every step has a mean, also one without samples of the metric.
  const isLowSample = points.map(() => false);
  return {
    times: points.map((point) => point.timestamp_ms + step / 2),
    from,
    to: Math.max(to, (points.at(-1)?.timestamp_ms ?? 0) + step),
    scale: "linear",
    lines: [
      ...earlierLines(earlier, EARLIER).map((line) => ({ ...line, isLowSample })),
      { label: "in flight", colour: "--client", values: points.map((point) => point.in_flight ?? null), width: 1.75 },
    ],
    targets: isKnown(cap) ? [{ label: `cap ${mean(cap)}`, short: mean(cap), colour: "--muted", value: cap }] : [],
    isLowSample,
    format: mean,
  };
}

function caption({ points, step_ms: step, targets: { in_flight_cap: cap } }: Timeseries): string {
  const most = Math.max(0, ...points.map((point) => point.in_flight ?? 0));
  const peak = `At most ${mean(most)} at a time on average over ${stepLabel(step)}.`;
  if (!isKnown(cap)) return peak;
  return `${peak} ${most > cap ? "Above" : "Within"} the cap of ${mean(cap)}.`;
}

/** A mean number of streams. */
function mean(value: MaybeNumber): string {
  if (!isKnown(value)) return ABSENT;
  return value < 10 ? String(Number(value.toFixed(1))) : value.toFixed(0);
}

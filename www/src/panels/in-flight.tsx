/** Streams in flight over time, with the number that the service can serve. */
import type { Timeseries } from "../api/api-types";
import { GLOSSARY } from "../api/glossary";
import { stepLabel } from "../charts/chart-captions";
import type { EarlierLine } from "../charts/earlier";
import { TimeFigure, type TimeLine } from "../charts/time-figure";
import { ABSENT, isKnown, type MaybeNumber } from "../format";

const LINES: readonly TimeLine<"in_flight">[] = [{ label: "in flight", key: "in_flight", colour: "client" }];
const EARLIER: readonly EarlierLine<"in_flight">[] = [{ label: "earlier", key: "in_flight", colour: "earlier-p50" }];

export function InFlight({ series }: { series: Timeseries }) {
  const cap = series.targets.in_flight_cap;
  return (
    <TimeFigure
      chart="in-flight"
      title="Streams in flight"
      meaning={GLOSSARY["in flight"]}
      caption={caption(series)}
      series={series}
      lines={LINES}
      earlier={EARLIER}
      targets={isKnown(cap) ? [{ label: `cap ${mean(cap)}`, short: mean(cap), colour: "--muted", value: cap }] : []}
      text={mean}
    />
  );
}

function caption({ points, step_ms: step, targets: { in_flight_cap: cap } }: Timeseries): string {
  const most = Math.max(0, ...points.map((point) => point.in_flight ?? 0));
  const peak = `Highest mean over ${stepLabel(step)}: ${mean(most)} at a time.`;
  if (!isKnown(cap)) return peak;
  return `${peak} ${most > cap ? "Above" : "Within"} the cap of ${mean(cap)}.`;
}

/** A mean number of streams. */
function mean(value: MaybeNumber): string {
  if (!isKnown(value)) return ABSENT;
  return value < 10 ? String(Number(value.toFixed(1))) : value.toFixed(0);
}

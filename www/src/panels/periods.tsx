/** Table of the range's figures beside those of the comparison period. */
import type { Summary } from "../api/api-types";
import type { Result } from "../api/async-result";
import { COMPARISON_LABELS } from "../charts/chart-captions";
import { Answered } from "../charts/figure";
import { heading, isKnown, timeRange } from "../format";
import { MIN_SAMPLES } from "../metric";
import { relativeLength } from "../polling/resolution";
import { TableHead } from "../ui/table-head";
import { Term } from "../ui/term";
import type { CompareTo } from "../url";
import { Change } from "./change";
import { periodFigures, type PeriodFigure } from "./period-figures";
import { differenceText } from "./release-text";

interface PeriodsProps {
  summary: Summary;
  result: Result<Summary> | null;
  compareTo: CompareTo | null;
  /** Time of arrival of the summary. */
  loadedAt: number;
}

export function Periods({ summary, result, compareTo, loadedAt }: PeriodsProps) {
  if (result === null || compareTo === null) return null;
  const label = COMPARISON_LABELS[compareTo];
  return (
    <section class="breakdown" data-periods={compareTo} aria-labelledby="periods-title">
      <h2 id="periods-title">This range and {label}</h2>
      <Answered result={result}>
        {(earlier) => <PeriodTable summary={summary} earlier={earlier} label={heading(label)} loadedAt={loadedAt} />}
      </Answered>
    </section>
  );
}

interface PeriodTableProps {
  summary: Summary;
  earlier: Summary;
  label: string;
  loadedAt: number;
}

function PeriodTable({ summary, earlier, label, loadedAt }: PeriodTableProps) {
  const period = timeRange(earlier, loadedAt);
  // A part of the period would look like a fall in traffic.
  if (isKnown(earlier.kept_since_ms)) return <p class="nothing">Not all streams of {period} are kept.</p>;
  if (earlier.streams === 0) return <p class="nothing">No streams ended in {period}.</p>;
  const length = relativeLength(summary, earlier, loadedAt);
  return (
    <>
      <table class="stream-table breakdown-table">
        <TableHead columns={[["Figure"], ["This range", "number"], [label, "number"], ["Change", "number"]]} />
        <tbody>
          {periodFigures(summary, earlier, length).map((figure) => (
            <Row key={figure.label} {...figure} />
          ))}
        </tbody>
      </table>
      <p class="caption">
        {timeRange(summary, loadedAt)} against {period}. Changes need {MIN_SAMPLES} samples in both periods; those
        without a 95 % confidence interval can be chance.
      </p>
    </>
  );
}

function Row({ label, meaning, now, earlier, change, difference }: PeriodFigure) {
  const isChance = difference && differenceText(difference.difference, difference.format) === null;
  return (
    <tr>
      <th scope="row">
        <Term meaning={meaning}>{label}</Term>
      </th>
      {[now, earlier].map(({ text, interval }, at) => (
        <td key={at} class="number">
          {interval && (
            <small class="wide" title="95 % confidence interval">
              ({interval}){" "}
            </small>
          )}
          {text}
        </td>
      ))}
      <td class="number">
        {isChance ? null : (change ?? <span class="dim">–</span>)} {change !== null && difference && <Change {...difference} />}
      </td>
    </tr>
  );
}

/** Table of one dimension's values: traffic, percentiles, errors and impact. */
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";

import type { Breakdown as BreakdownAnswer, Group, Dimension } from "../api/api-types";
import type { Result } from "../api/async-result";
import { GLOSSARY } from "../api/glossary";
import { METRIC_LABELS, type Metric } from "../api/metrics";
import { breakdownCaption, slowTarget } from "../charts/chart-captions";
import { Answered } from "../charts/figure";
import { groupScale, type GroupScale } from "../charts/group-scale";
import {
  columnDuration,
  count,
  dateTime,
  dimensionLabel,
  duration,
  heading,
  intervalText,
  isKnown,
  percent,
  plural,
  valueLabel,
} from "../format";
import { isOfWindows } from "../filters";
import { MIN_SAMPLES } from "../metric";
import { setFilter, setGroupBy, setShowsAllGroups } from "../state";
import { Term } from "../ui/term";
import { DimensionSelect } from "./header/dimension-select";

type Column = "streams" | "p50_ms" | "p95_ms" | "errors" | "excess_share";

/** The tiles define the other columns. */
const COLUMNS: { column: Column; label: string; meaning?: string; visibility: "" | "mid" | "wide" }[] = [
  { column: "streams", label: "Streams", visibility: "" },
  { column: "p50_ms", label: "p50", visibility: "" },
  { column: "p95_ms", label: "p95", visibility: "" },
  { column: "errors", label: "Errors", visibility: "" },
  { column: "excess_share", label: "Impact", meaning: GLOSSARY.impact, visibility: "wide" },
];

interface BreakdownProps {
  result: Result<BreakdownAnswer>;
  /** The view of the result, which can be older than the current one. */
  view: { by: Dimension; metric: Metric };
  by: Dimension;
  showsAll: boolean;
}

export function Breakdown({ result, view, by, showsAll }: BreakdownProps) {
  return (
    <section class="breakdown" data-breakdown={view.by} aria-labelledby="breakdown-title">
      <div class="figure-head">
        <h2 id="breakdown-title">
          <Term meaning={METRIC_LABELS[view.metric].meaning}>{METRIC_LABELS[view.metric].title}</Term> by{" "}
          {dimensionLabel(view.by)}
        </h2>
        <DimensionSelect label="By" value={by} onChoose={setGroupBy} />
      </div>
      <Answered result={result}>{(answer) => <BreakdownTable answer={answer} showsAll={showsAll} />}</Answered>
    </section>
  );
}

function BreakdownTable({ answer, showsAll }: { answer: BreakdownAnswer; showsAll: boolean }) {
  const sorted = useSignal<Column>("streams");
  const column = sorted.value;
  const groups = useMemo(() => sortedBy(answer.groups, column), [answer, column]);
  const scale = groupScale(answer.groups, ({ targets }) =>
    slowTarget({ metric: answer.metric, targets: targets ?? answer.targets }),
  );
  return (
    <>
      {groups.length === 0 ? (
        <p class="nothing">No streams ended in this time range.</p>
      ) : (
        <table class="stream-table breakdown-table">
          <thead>
            <tr>
              <th scope="col">{heading(dimensionLabel(answer.by))}</th>
              {COLUMNS.map((head) => (
                <Head key={head.column} {...head} sorted={column} onSort={(next) => (sorted.value = next)} />
              ))}
              <th scope="col" class="wide span-cell">
                Range p50–p99 (dot = p95)
              </th>
            </tr>
          </thead>
          <tbody>
            {groups.map((group) => (
              <Row key={group.value} group={group} by={answer.by} scale={scale} />
            ))}
          </tbody>
        </table>
      )}
      <p class="caption">
        {breakdownCaption(answer)}
        {isKnown(answer.kept_since_ms) && ` Only streams since ${dateTime(answer.kept_since_ms, Date.now())} count.`}
        {answer.omitted > 0 && ` ${plural(answer.omitted, "more value")} with fewer streams.`}
      </p>
      {(showsAll || answer.omitted > 0) && (
        <button type="button" class="more small" aria-expanded={showsAll} onClick={() => setShowsAllGroups(!showsAll)}>
          {showsAll ? "Show fewer" : "Show all"}
        </button>
      )}
    </>
  );
}

interface HeadProps {
  column: Column;
  label: string;
  meaning?: string;
  visibility: string;
  sorted: Column;
  onSort: (column: Column) => void;
}

function Head({ column, label, meaning, visibility, sorted, onSort }: HeadProps) {
  const isSorted = column === sorted;
  return (
    <th scope="col" class={`number ${visibility}`} aria-sort={isSorted ? "descending" : undefined}>
      {meaning && (
        <Term meaning={meaning} label={`Definition of ${label}`}>
          ?
        </Term>
      )}
      <button type="button" class="sort" title="Sort by this column" onClick={() => onSort(column)}>
        {label}
        <span aria-hidden="true">{isSorted ? " ↓" : ""}</span>
      </button>
    </th>
  );
}

function Row({ group, by, scale }: { group: Group; by: Dimension; scale: GroupScale }) {
  const { value, streams, share } = group;
  const failed = errorShare(group);
  const few = group.n < MIN_SAMPLES ? " few" : "";
  // Windows have `other` as a value; of single streams it is the rest of this answer.
  const isFilter = value !== "other" || isOfWindows(by);
  return (
    <tr data-group={value}>
      <td class="model-cell">
        {isFilter ? (
          <button
            type="button"
            class="narrow"
            onClick={() => setFilter(by, value)}
            title={`Filter by ${dimensionLabel(by)} ${value}`}
          >
            {valueLabel(by, value)}
          </button>
        ) : (
          value
        )}
      </td>
      <td class="number">
        {count(streams)} <small class="share">{percent(share)}</small>
      </td>
      <td class={`number${few}`}>{columnDuration(group.p50_ms)}</td>
      <td class={`number strong${few}`} title={intervalTitle(group)}>
        {few && group.n > 0 && <small>(n = {count(group.n)}) </small>}
        {columnDuration(group.p95_ms)}
      </td>
      <td class={`number${failed ? "" : " dim"}`} data-errors={group.errors}>
        {percent(failed)}
      </td>
      <td class="number wide">{excessCell(group)}</td>
      <td class="wide span-cell">
        <PercentileRange group={group} scale={scale} />
      </td>
    </tr>
  );
}

function PercentileRange({ group, scale }: { group: Group; scale: GroupScale }) {
  const { p50_ms: p50, p95_ms: p95, p99_ms: p99 } = group;
  if (!isKnown(p50) || !isKnown(p95) || !isKnown(p99)) return <span class="dim">no samples</span>;
  const at = (value: number) => `${(100 * scale.at(value)).toFixed(2)}%`;
  const target = scale.target(group);
  const isFew = group.n < MIN_SAMPLES;
  const isSlow = !isFew && target !== null && p95 > target;
  return (
    <svg
      class={`span${isSlow ? " slow" : ""}${isFew ? " few" : ""}`}
      role="img"
      aria-label={`${duration(p50)} to ${duration(p99)}`}
    >
      {target !== null && <line class="span-target" x1={at(target)} x2={at(target)} y1="0" y2="100%" />}
      <line x1={at(p50)} x2={at(p99)} y1="50%" y2="50%" />
      <circle cx={at(p95)} cy="50%" r="4" />
    </svg>
  );
}

function intervalTitle({ intervals }: Group): string | undefined {
  const text = intervalText(intervals?.p95);
  return text === null ? undefined : `95 % confidence interval: ${text}`;
}

function excessCell({ excess_share: excess }: Group) {
  if (!isKnown(excess)) return <span class="dim">–</span>;
  const points = excess * 100;
  if (Math.abs(points) < 0.05) return <span class="dim">0</span>;
  const text = `${points > 0 ? "+" : "−"}${Math.abs(points).toFixed(1)} pp`;
  return text;
}

function sortedBy(groups: readonly Group[], column: Column): Group[] {
  const key = (group: Group) => (column === "errors" ? errorShare(group) : group[column]) ?? -Infinity;
  return [...groups].sort((a, b) => key(b) - key(a) || b.streams - a.streams);
}

/** Share of the eligible streams; `null` without any. */
function errorShare({ errors, goodput }: Group): number | null {
  return goodput.total > 0 ? errors / goodput.total : null;
}

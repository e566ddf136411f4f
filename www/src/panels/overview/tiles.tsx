/** Five tiles of the summary: value, target, change and sample count. */
import type { ComponentChildren } from "preact";

import type { Compare, Interval, Range, Summary } from "../../api/api-types";
import type { Result } from "../../api/async-result";
import { GLOSSARY } from "../../api/glossary";
import { METRIC_LABELS } from "../../api/metrics";
import { comparisonCaption, kmAdjustedCaption, ttftComparison } from "../../charts/chart-captions";
import {
  ABSENT,
  columnDuration,
  configuredPercent,
  count,
  countChange,
  duration,
  durationChange,
  intervalText,
  isKnown,
  percent,
  percentagePoints,
  plural,
  rate,
  type MaybeNumber,
} from "../../format";
import { leadMetric, MIN_SAMPLES, QUANTILES, targetsInView, targetsOf } from "../../metric";
import { relativeLength } from "../../polling/resolution";
import { visits } from "../../state";
import { Icon } from "../../ui/icon";
import { Term } from "../../ui/term";
import type { CompareTo } from "../../url";
import { badVisitsText } from "./visit-text";

interface TilesProps {
  summary: Summary;
  range: Range;
  compareTo: CompareTo | null;
}

interface AllTilesProps extends TilesProps {
  compare: Result<Compare>;
  /** Time of arrival of the summary. */
  loadedAt: number;
}

export function Tiles({ summary, range, compareTo, compare, loadedAt }: AllTilesProps) {
  const comparison = compare.kind === "known" ? ttftComparison(compare.value) : null;
  return (
    <section class="tiles" aria-label="Key figures">
      <Wait summary={summary} range={range} compareTo={compareTo} comparison={comparison} />
      <Integrity summary={summary} />
      <Goodput summary={summary} />
      <Streams summary={summary} loadedAt={loadedAt} />
      <Errors summary={summary} />
    </section>
  );
}

/** The wait that the use cases in view have targets for. */
function Wait({ summary, range, compareTo, comparison }: TilesProps & { comparison: string | null }) {
  const metric = leadMetric(summary);
  const [wait, before] = [summary[metric], summary.previous[metric]];
  const adjusted = kmAdjustedCaption(wait);
  const goals = targetsOf(metric, targetsInView(summary));
  const goal = (name: string) => goals.find(({ quantile }) => quantile === name)?.value;
  return (
    <Tile name={metric} title={METRIC_LABELS[metric].title} meaning={`${METRIC_LABELS[metric].meaning}. Source: ${METRIC_LABELS[metric].source}`}>
      <div class="quantiles">
        {QUANTILES.map(({ name, key, colour }) => (
          <div key={name}>
            <span class={`key ${colour}`}>
              <Term meaning={GLOSSARY.percentile}>{name}</Term>
            </span>
            <Value raw={wait[key]} quantile={name} text={columnDuration(wait[key])} />
            <ConfidenceInterval interval={wait.intervals?.[name]} />
            <Target value={wait[key]} target={goal(name)} text={duration(goal(name))} />
            <Change text={durationChange(wait[key], before[key])} previousSamples={before.n} />
          </div>
        ))}
      </div>
      {adjusted !== null && (
        <p class="rests" data-km-adjusted>
          <Term meaning={GLOSSARY["Kaplan–Meier-adjusted percentile"]}>{adjusted}</Term>
        </p>
      )}
      <p class="rests">
        {wait.n === 0 ? "no samples" : sampleText(wait.n, wait.relative_error)} ·{" "}
        {comparisonCaption(before.n, range, compareTo)}
        {summary.use_cases > 1 && ` · ${withinTargets(summary)}`}
      </p>
      {comparison !== null && <p class="rests">{comparison}</p>}
    </Tile>
  );
}

/** With several use cases, each stream is compared with the target of its own. */
function withinTargets({ within_p95_target: within }: Summary): string {
  return within.total === 0
    ? "no use case has a p95 target"
    : `${percent(within.ratio)} of ${plural(within.total, "stream")} within the p95 target of their use case`;
}

function sampleText(n: number, error: MaybeNumber): string {
  const exactness = isKnown(error) ? `, ±${percent(error)}` : "";
  const few = n < MIN_SAMPLES ? ", too few for a stable p95" : "";
  return `${plural(n, "sample")}${exactness}${few}`;
}

function Integrity({ summary }: Pick<TilesProps, "summary">) {
  const { integrity, previous, share_targets: targets } = summary;
  return (
    <Share
      name="integrity"
      title="Streaming integrity"
      meaning={GLOSSARY["streaming integrity"]}
      share={integrity}
      before={previous.integrity}
      target={targets.integrity}
      text={`${count(integrity.good)} of ${count(integrity.total)} streams intact`}
    />
  );
}

function Goodput({ summary: { goodput, previous, share_targets: targets } }: Pick<TilesProps, "summary">) {
  return (
    <Share
      name="goodput"
      title="Goodput"
      meaning={GLOSSARY.goodput}
      share={goodput}
      before={previous.goodput}
      target={targets.goodput}
      text={`met all targets · ${rate(goodput.per_second)}`}
    >
      <BadVisits />
    </Share>
  );
}

/** Nothing if no report of the range carries a visit. */
function BadVisits() {
  const answer = visits.value;
  const text = answer.kind === "known" ? badVisitsText(answer.value) : null;
  return text === null ? null : (
    <p class="rests" data-visits>
      {text}
    </p>
  );
}

function Errors({ summary }: Pick<TilesProps, "summary">) {
  const { errors, previous, share_targets: targets } = summary;
  const { availability } = targets;
  return (
    <Share
      name="errors"
      title="Errors"
      meaning={GLOSSARY.error}
      share={errors}
      before={previous.errors}
      target={isKnown(availability) ? 1 - availability : null}
      lowerBound={errors.ratio_ci_lower}
      isFloor={false}
      text={`${count(errors.count)} of ${count(errors.total)} failed`}
    />
  );
}

function Streams({ summary, loadedAt }: Pick<AllTilesProps, "summary" | "loadedAt">) {
  const { streams, open, previous, output_tokens: tokens } = summary;
  const comparable = streams / relativeLength(summary, previous, loadedAt);
  return (
    <Tile name="streams" title="Streams" meaning={GLOSSARY.stream}>
      <Value raw={streams} text={count(streams)} />
      <p class="rests">
        {open} in flight
        {isKnown(tokens) && tokens > 0 && `, ${count(tokens)} output tokens`}
      </p>
      <Change text={countChange(comparable, previous.streams)} previousSamples={previous.streams} />
    </Tile>
  );
}

interface TileProps {
  name: "ttfv" | "e2e" | "integrity" | "goodput" | "streams" | "errors";
  title: string;
  /** Definition of the title. */
  meaning: string;
  children?: ComponentChildren;
}

function Tile({ name, title, meaning, children }: TileProps) {
  return (
    <article class="tile" data-tile={name}>
      <h2>
        <Term meaning={meaning}>{title}</Term>
      </h2>
      {children}
    </article>
  );
}

interface ShareProps extends TileProps {
  share: { ratio?: MaybeNumber; total: number };
  before: { ratio?: MaybeNumber; total: number };
  target: MaybeNumber;
  /** Lower confidence bound of the share. */
  lowerBound?: MaybeNumber;
  /** The share has to reach the target, instead of staying within it. */
  isFloor?: boolean;
  text: string;
}

/** A share of the eligible streams. */
function Share({ share, before, target, lowerBound, isFloor = true, text, children, ...tile }: ShareProps) {
  const { ratio, total } = share;
  return (
    <Tile {...tile}>
      <Value raw={ratio} text={percent(ratio)} />
      <Target value={ratio} target={target} text={configuredPercent(target)} lowerBound={lowerBound} isFloor={isFloor} />
      <p class="rests">{total === 0 ? "no eligible streams" : text}</p>
      <Change text={percentagePoints(ratio, before.ratio)} previousSamples={before.total} />
      {children}
    </Tile>
  );
}

/** `data-value` carries the bare number, or nothing if it is absent. */
function Value({ raw, text, quantile }: { raw: MaybeNumber; text: string; quantile?: string }) {
  const known = isKnown(raw);
  return (
    <p
      class={known ? "value" : "value absent"}
      data-value={known ? String(raw) : ""}
      data-quantile={quantile}
    >
      {known ? text : ABSENT}
    </p>
  );
}

/** Confidence interval of a percentile of few samples. */
function ConfidenceInterval({ interval }: { interval: Interval | null | undefined }) {
  const text = intervalText(interval);
  return text === null ? null : (
    <p class="between">
      <Term meaning={GLOSSARY["confidence interval"]}>{text}</Term>
    </p>
  );
}

interface TargetProps {
  value: MaybeNumber;
  target: MaybeNumber;
  text: string;
  /** Lower confidence bound of the value. */
  lowerBound?: MaybeNumber;
  /** The value has to reach the target, instead of staying within it. */
  isFloor?: boolean;
}

function Target({ value, target, text, lowerBound, isFloor = false }: TargetProps) {
  if (!isKnown(target)) return null;
  if (!isKnown(value)) return <p class="goal">target {text}</p>;
  if (value > target && isKnown(lowerBound) && lowerBound <= target) {
    return <p class="goal">above {text}, not statistically significant</p>;
  }
  const isMet = isFloor ? value >= target : value <= target;
  return (
    <p class={`goal ${isMet ? "good" : "bad"}`}>
      <Icon name={isMet ? "good" : "warn"} />
      {isFloor ? "target" : isMet ? "within" : "above"} {text}
    </p>
  );
}

/** No change is shown against a period with few samples. */
function Change({ text, previousSamples }: { text: string | null; previousSamples: number }) {
  return text === null || previousSamples < MIN_SAMPLES ? null : <p class="change">{text}</p>;
}

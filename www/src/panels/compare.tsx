/** TTFT in the browser beside the server's TTFT, or how to send the server's. */
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";

import type { Compare as CompareAnswer } from "../api/api-types";
import type { Result } from "../api/async-result";
import { METRIC_LABELS } from "../api/metrics";
import { compareCaption } from "../charts/chart-captions";
import type { EarlierLine } from "../charts/earlier";
import { Figure, Loaded } from "../charts/figure";
import { TimeFigure, type TimeLine } from "../charts/time-figure";
import { columnDuration, count, duration, humanize, percent, plural, sourceLabel, tickDuration } from "../format";
import { MIN_SAMPLES } from "../metric";
import { comparedSide, serverLayers } from "../state";
import { SegmentedControl } from "../ui/segmented-control";
import { DOCS } from "./header/menu";
import { durationsOnly, reasonsOf, sidesOf } from "./server-layers";

type Percentile = "p50" | "p95";

const TITLE = "Time to first token: browser vs. server";

interface CompareProps {
  result: Result<CompareAnswer>;
  from: number;
  to: number;
}

export function Compare({ result, ...range }: CompareProps) {
  return (
    <Loaded chart="compare" title={TITLE} result={result}>
      {(answer) => <CompareFigure answer={answer} {...range} />}
    </Loaded>
  );
}

function CompareFigure({ answer, from, to }: { answer: CompareAnswer; from: number; to: number }) {
  const percentile = useSignal<Percentile>("p50");
  const which = percentile.value;
  const series = useMemo(() => ({ ...answer, from, to }), [answer, from, to]);
  if (answer.matched === 0) return <NoServerTiming streams={answer.streams} />;
  const options = (["p50", "p95"] as const).map((value) => ({ value, label: value }));
  return (
    <TimeFigure
      chart="compare"
      title={TITLE}
      meaning={METRIC_LABELS.overhead.meaning}
      caption={compareCaption(answer, which)}
      aside={
        <div class="switches">
          <Sides />
          <SegmentedControl
            legend="Percentile"
            name="percentile"
            options={options}
            chosen={which}
            onChoose={(value) => (percentile.value = value)}
          />
        </div>
      }
      series={series}
      lines={LINES[which]}
      earlier={EARLIER[which]}
      samples="streams with both"
      text={columnDuration}
      tick={tickDuration}
    >
      <OverheadFacts answer={answer} />
    </TimeFigure>
  );
}

function OverheadFacts({ answer }: { answer: CompareAnswer }) {
  const { overhead, matched, streams, sources } = answer;
  const from = Object.entries(sources).sort(([, a], [, b]) => b - a);
  const isFew = overhead.n < MIN_SAMPLES;
  return (
    <dl class="facts">
      <div>
        <dt>Network overhead</dt>
        <dd class={isFew ? "dim" : undefined}>
          <span class="source">
            {duration(overhead.p50_ms)} <small>p50</small>
          </span>
          <span class="source">
            {duration(overhead.p95_ms)} <small>p95{isFew && ` (n = ${count(overhead.n)})`}</small>
          </span>
        </dd>
      </div>
      <div>
        <dt>Streams with server timing</dt>
        <dd>
          {percent(streams > 0 ? matched / streams : null)}{" "}
          <small>
            ({count(matched)} of {count(streams)})
          </small>
        </dd>
      </div>
      <div>
        <dt>Source</dt>
        <dd>
          {from.map(([source, n]) => (
            <span key={source} class="source">
              {sourceLabel(source)} <small>{count(n)}</small>
            </span>
          ))}
        </dd>
      </div>
      <Without />
    </dl>
  );
}

/** Which layers of the backend tell their time, and of which share of the streams. */
function Sides() {
  const answer = serverLayers.value;
  const options = answer.kind === "known" ? sidesOf(answer.value) : [];
  if (options.length < 2) return null;
  return (
    <SegmentedControl
      legend="Layer"
      name="layer"
      options={options}
      chosen={comparedSide.value}
      onChoose={(side) => (comparedSide.value = side)}
    />
  );
}

/** Layers without a time to first token, and why streams lack the time of the chosen layer. */
function Without() {
  const answer = serverLayers.value;
  const reasons = answer.kind === "known" ? reasonsOf(answer.value, comparedSide.value) : [];
  const partial = answer.kind === "known" ? durationsOnly(answer.value) : [];
  return (
    <>
      {partial.length > 0 && (
        <div>
          <dt>Durations only</dt>
          <dd>
            <Counted names={partial} />
          </dd>
        </div>
      )}
      <div>
        <dt>{reasons.length > 0 ? "Without" : "Layers"}</dt>
        <dd>
          <Counted names={reasons} />
          <LayersHelp />
        </dd>
      </div>
    </>
  );
}

function Counted({ names }: { names: readonly [name: string, streams: number][] }) {
  return names.map(([name, n]) => (
    <span key={name} class="source">
      {humanize(name)} <small>{count(n)}</small>
    </span>
  ));
}

const LayersHelp = () => <a href={`${DOCS}/server-timing-layers.md`}>More layers</a>;

function NoServerTiming({ streams }: { streams: number }) {
  return (
    <Figure
      chart="compare"
      title={TITLE}
      caption={
        streams === 0
          ? "No streams in this time range."
          : `0 of ${plural(streams, "stream")} include server timing.`
      }
      aside={<Sides />}
    >
      <div class="advice">
        <p>
          llama.cpp and Ollama send server timing. Any other server writes a comment:
        </p>
        <pre>
          <code>: llm-rum {'{"ttft_ms":85.2}'}</code>
        </pre>
        <p>
          Middleware for Python, Node and Rust does that. <LayersHelp />
        </p>
      </div>
    </Figure>
  );
}

const SIDES = [
  { label: "browser", side: "client", earlier: "earlier-p50" },
  { label: "server", side: "server", earlier: "earlier-p95" },
  // A line of its own, because a difference of percentiles is not a percentile of the differences.
  { label: "overhead", side: "overhead", earlier: "earlier-overhead" },
] as const;

type Key = `${(typeof SIDES)[number]["side"]}_${Percentile}_ms`;

const linesOf = (which: Percentile): TimeLine<Key>[] =>
  SIDES.map(({ label, side }) => ({ label: `${label} ${which}`, key: `${side}_${which}_ms`, colour: side }));

const earlierOf = (which: Percentile): EarlierLine<Key>[] =>
  SIDES.map(({ label, side, earlier }) => ({
    label: `earlier ${label} ${which}`,
    key: `${side}_${which}_ms`,
    colour: earlier,
  }));

const LINES = { p50: linesOf("p50"), p95: linesOf("p95") };
const EARLIER = { p50: earlierOf("p50"), p95: earlierOf("p95") };

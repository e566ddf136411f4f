/** TTFT in the browser beside the server's TTFT, or how to send the server's. */
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";

import type { Compare as CompareAnswer } from "../api/api-types";
import type { Result } from "../api/async-result";
import { METRIC_LABELS } from "../api/metrics";
import { compareCaption } from "../charts/chart-captions";
import { earlierLines, earlierReadout, type EarlierLine } from "../charts/earlier";
import { Figure, LoadError } from "../charts/figure";
import { Legend, LineChart, type Readout } from "../charts/line-chart";
import type { PlotSpec } from "../charts/plot";
import {
  columnDuration,
  count,
  dateTime,
  duration,
  heading,
  humanize,
  percent,
  plural,
  sourceLabel,
  tickDuration,
  timeInterval,
} from "../format";
import { hasFewSamples, MIN_SAMPLES } from "../metric";
import { comparedSide, serverLayers, zoomTo } from "../state";
import { SegmentedControl } from "../ui/segmented-control";
import { DOCS } from "./menu";
import { reasonsOf, sidesOf } from "./server-layers";

type Percentile = "p50" | "p95";

const TITLE = "Time to first token: browser vs. server";

interface CompareProps {
  result: Result<CompareAnswer>;
  from: number;
  to: number;
}

export function Compare({ result, ...range }: CompareProps) {
  if (result.kind === "known") return <CompareFigure answer={result.value} {...range} />;
  return (
    <Figure chart="compare" title={TITLE}>
      <LoadError message={result.message} />
    </Figure>
  );
}

function CompareFigure({ answer, from, to }: { answer: CompareAnswer; from: number; to: number }) {
  const percentile = useSignal<Percentile>("p50");
  const which = percentile.value;
  const spec = useMemo(() => plotOf(answer, which, from, to), [answer, which, from, to]);
  if (answer.matched === 0) return <NoServerTiming streams={answer.streams} />;
  const options = (["p50", "p95"] as const).map((value) => ({ value, label: value }));
  return (
    <Figure
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
      table={{
        columns: ["Time", "n", ...COLUMNS.concat(answer.earlier ? EARLIER : []).map(({ label }) => heading(label))],
        rows: () => tableRows(answer, to),
      }}
    >
      <Legend
        entries={[
          ...SIDES.map(({ label, side }) => ({ label, colour: side })),
          ...(answer.earlier ? earlierOf(which) : []),
          { label: "streams with both", colour: "volume" },
        ]}
      />
      <div class="plot-frame">
        <LineChart
          spec={spec}
          label={`Time to first token in the browser and on the server, and the network overhead, ${which}`}
          readout={(index) => readoutOf(answer, which, index, to)}
          onBrush={zoomTo}
        />
      </div>
      <OverheadFacts answer={answer} />
    </Figure>
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

/** Why streams lack the time of the chosen layer. */
function Without() {
  const answer = serverLayers.value;
  const reasons = answer.kind === "known" ? reasonsOf(answer.value, comparedSide.value) : [];
  return (
    <div>
      <dt>{reasons.length > 0 ? "Without" : "Layers"}</dt>
      <dd>
        {reasons.map(([reason, n]) => (
          <span key={reason} class="source">
            {humanize(reason)} <small>{count(n)}</small>
          </span>
        ))}
        <LayersHelp />
      </dd>
    </div>
  );
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
          No stream carries server timing. llama.cpp and Ollama send it. Any other server writes a comment into its
          stream:
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

const linesOf = (which: Percentile) =>
  SIDES.map(({ label, side }) => ({ label: `${label} ${which}`, key: `${side}_${which}_ms` as Key, colour: side }));

const earlierOf = (which: Percentile): EarlierLine<Key>[] =>
  SIDES.map(({ label, side, earlier }) => ({
    label: `earlier ${label} ${which}`,
    key: `${side}_${which}_ms`,
    colour: earlier,
  }));

/** Columns of the table. */
const COLUMNS: { label: string; key: Key }[] = [...linesOf("p50"), ...linesOf("p95")];
const EARLIER = [...earlierOf("p50"), ...earlierOf("p95")];

function plotOf(answer: CompareAnswer, percentile: Percentile, from: number, to: number): PlotSpec {
  const { points, step_ms: step } = answer;
  return {
    times: points.map((point) => point.timestamp_ms + step / 2),
    from,
    to: Math.max(to, (points.at(-1)?.timestamp_ms ?? 0) + step),
    scale: "linear",
    lines: [
      ...earlierLines(answer.earlier, earlierOf(percentile)),
      ...linesOf(percentile).map(({ label, key, colour }) => ({
        label,
        colour: `--${colour}`,
        values: points.map((point) => point[key] ?? null),
        width: 1.75,
      })),
    ],
    targets: [],
    isLowSample: points.map((point) => hasFewSamples(point.n)),
    volume: { streams: points.map(({ n }) => n ?? null), errors: points.map(() => 0), isRunning: false },
    format: tickDuration,
  };
}

function readoutOf(
  { points, earlier, step_ms }: CompareAnswer,
  which: Percentile,
  index: number,
  today: number,
): Readout | null {
  const point = points[index];
  if (!point) return null;
  return {
    heading: timeInterval(point.timestamp_ms, step_ms, today),
    values: [
      ...linesOf(which).map(({ label, key, colour }) => ({ label, text: columnDuration(point[key]), colour })),
      ...earlierReadout(earlier?.[index], earlierOf(which), columnDuration),
      { label: "samples", text: point.n === 0 ? "none" : count(point.n) },
    ],
  };
}

function tableRows({ points, earlier }: CompareAnswer, today: number): string[][] {
  return points
    .map((point, at) => [
      dateTime(point.timestamp_ms, today),
      count(point.n),
      ...COLUMNS.map(({ key }) => columnDuration(point[key])),
      ...(earlier ? EARLIER.map(({ key }) => columnDuration(earlier[at]?.[key])) : []),
    ])
    .reverse();
}

/** One line of live figures: streams in flight, streams completed in the last minute, TTFT and the newest streams. */
import { useLayoutEffect } from "preact/hooks";

import type { Live, Outcome, Quantiles, StreamReport } from "../../api/api-types";
import { GLOSSARY } from "../../api/glossary";
import { METRIC_LABELS } from "../../api/metrics";
import { modelOf } from "../../api/stream-columns";
import { ABSENT, count, duration, percent, plural, rate } from "../../format";
import { MIN_SAMPLES } from "../../metric";
import { live, openStream, type LiveState } from "../../state";
import { Icon } from "../../ui/icon";
import { OUTCOME_STYLES } from "../../ui/outcome";
import { Term } from "../../ui/term";
import { useWidth } from "../../ui/width";

/** Number of streams that fit into one line of a narrow page. */
const MAX_SHOWN = 5;

const STATE_LABELS: Record<LiveState["kind"], { label: string; title: string }> = {
  joining: { label: "connecting", title: "Connecting to the collector" },
  live: { label: "live", title: "Updated every second" },
  away: { label: "reconnecting", title: "No updates from the collector" },
  paused: { label: "paused", title: "Paused with the page" },
};

export function LiveStrip() {
  const { kind } = live.value;
  const now = live.value.kind === "live" ? live.value.now : null;
  const { label, title } = STATE_LABELS[kind];
  return (
    <section class={`now ${kind}`} aria-label="Now" aria-live="off" data-live={kind}>
      <p class="now-state" title={title}>
        <span class="now-dot" aria-hidden="true" />
        {label}
      </p>
      <dl>
        <div data-now="open">
          <dt>
            <Term meaning={GLOSSARY["in flight"]}>in flight</Term>
          </dt>
          <dd>{count(now?.open)}</dd>
        </div>
        <div data-now="ended" title={now?.scope === "cluster" ? "All collectors" : undefined}>
          <dt>{completedLabel(now)}</dt>
          <dd>
            {count(now?.ended.streams)} <Failed now={now} />
          </dd>
        </div>
        {now?.reports_per_second !== undefined && (
          <div class="wide" data-now="rate" title="Counted reports, mean of 10 s">
            <dt>
              <Term meaning={GLOSSARY["stream report"]}>reports</Term>
            </dt>
            <dd>{rate(now.reports_per_second)}</dd>
          </div>
        )}
        <div data-now="ttfv" title={now ? sampleText(now) : undefined}>
          <dt>
            <Term meaning={METRIC_LABELS.ttfv.meaning}>TTFT (5 min)</Term>
          </dt>
          <dd>
            {now && now.ttfv.n > 0 ? <LivePercentiles {...now.ttfv} /> : ABSENT}
          </dd>
        </div>
      </dl>
      {now && now.streams.length > 0 && <NewestLine streams={now.streams.slice(0, MAX_SHOWN)} />}
    </section>
  );
}

/** Percentiles of few samples are dimmed and show their count. */
function LivePercentiles({ n, p50_ms, p95_ms }: Quantiles) {
  return (
    <span class={n < MIN_SAMPLES ? "dim" : undefined}>
      <span class="dim">p50</span> {duration(p50_ms)} <span class="dim">p95</span> {duration(p95_ms)}
      {n < MIN_SAMPLES && ` (n = ${count(n)})`}
    </span>
  );
}

function completedLabel(now: Live | null): string {
  const seconds = now?.ended.seconds ?? 60;
  return `ended (last ${count(Math.floor(seconds))} s)`;
}

function sampleText({ ttfv }: Live): string {
  return `Time to first visible token, last 5 minutes: ${plural(ttfv.n, "sample")}, ±${percent(ttfv.relative_error)}`;
}

function Failed({ now }: { now: Live | null }) {
  const outcomes = Object.entries(now?.ended.outcomes ?? {}) as [Outcome, number][];
  const failed = outcomes.reduce((sum, [outcome, n]) => sum + (OUTCOME_STYLES[outcome]?.tone === "bad" ? n : 0), 0);
  if (failed === 0) return null;
  return <span class="bad">{count(failed)} failed</span>;
}

function NewestLine({ streams }: { streams: StreamReport[] }) {
  const [line] = useWidth<HTMLOListElement>(0);
  // Streams that wrapped out of sight must not receive the focus.
  useLayoutEffect(() => {
    const items = [...(line.current?.children ?? [])] as HTMLElement[];
    for (const item of items) item.inert = item.offsetTop > (items[0]?.offsetTop ?? 0);
  });
  return (
    <ol class="now-newest" ref={line} aria-label="Newest streams, time to first visible token">
      <li aria-hidden="true">newest</li>
      {streams.map((report) => (
        <li key={report.id}>
          <Newest report={report} />
        </li>
      ))}
    </ol>
  );
}

function Newest({ report }: { report: StreamReport }) {
  const style = OUTCOME_STYLES[report.outcome];
  const { ttfv_ms: ttfv } = report;
  // A stream without visible text, such as reasoning only, shows its outcome.
  const hasIcon = report.outcome !== "complete" || ttfv == null;
  return (
    <button
      type="button"
      class={style?.tone ?? "quiet"}
      data-newest={report.id}
      onClick={() => openStream(report.id)}
      title={`${modelOf(report)}: ${style?.label ?? report.outcome}`}
    >
      {hasIcon && style && <Icon name={style.icon} />}
      {ttfv == null ? <span class="unseen">{style?.label ?? ABSENT}</span> : duration(ttfv)}
    </button>
  );
}

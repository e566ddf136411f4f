/** The collector's verdict: its level with an icon, and its text. */
import type { Summary, VerdictLevel } from "../../api/api-types";
import { GLOSSARY } from "../../api/glossary";
import { isKnown, timeOfDay } from "../../format";
import { zoomTo } from "../../state";
import { Icon, type IconName } from "../../ui/icon";
import { Term } from "../../ui/term";
import { ClearFinding } from "./explain";
import { AccountingWarnings, Warnings } from "./ingest-accounting";

export const LEVELS: Record<VerdictLevel, { icon: IconName; label: string }> = {
  good: { icon: "good", label: "Healthy" },
  warn: { icon: "warn", label: "Degraded" },
  bad: { icon: "bad", label: "Out of SLO" },
  none: { icon: "none", label: "Not enough data" },
};

type VerdictAnswer = Summary["verdict"];

/** A number and its unit must stay on one line. */
const FIGURE_AND_UNIT = /(\d) (ms|s|%|min|h)(?=\W|$)/g;

export function Verdict({ summary }: { summary: Summary }) {
  const { level, text } = summary.verdict;
  const { icon, label } = LEVELS[level] ?? LEVELS.none;
  return (
    <section class={`verdict ${level}`} aria-label="Verdict" data-verdict={level}>
      <p class="verdict-level">
        <Icon name={icon} />
        <Term meaning={GLOSSARY.verdict}>{label}</Term>
      </p>
      <p class="verdict-text">
        {text.replace(FIGURE_AND_UNIT, "$1\u00a0$2")}
        <Onset verdict={summary.verdict} to={summary.to} />
      </p>
      <Warnings warnings={summary.attacks.map(({ text }) => text)} />
      <ClearFinding />
      <ErrorsAndLatency summary={summary} />
      <Overflow summary={summary} />
      <AccountingWarnings />
    </section>
  );
}

/** When bad streams became more frequent, as a button that shows this time only. */
function Onset({ verdict: { since_ms: since, until_ms: until }, to }: { verdict: VerdictAnswer; to: number }) {
  if (!isKnown(since)) return null;
  const text = isKnown(until) ? `From ${timeOfDay(since)} to ${timeOfDay(until)}` : `Since ${timeOfDay(since)}`;
  return (
    <>
      {" "}
      <button type="button" class="onset" title="Show only this time" onClick={() => zoomTo(since, until ?? to)}>
        {text}
      </button>
      .
    </>
  );
}

/** Whether errors and latency are up against the comparison period. */
function ErrorsAndLatency({ summary: { errors_and_latency: trend } }: { summary: Summary }) {
  if (!trend) return null;
  return (
    <p class="note" data-up={trend.up}>
      {trend.text.replace(FIGURE_AND_UNIT, "$1\u00a0$2")}
    </p>
  );
}

/** Warns that a label limit merged values. The figures stay right, the names do not. */
function Overflow({ summary }: { summary: Summary }) {
  const parts = Object.entries(summary.overflow ?? {}).filter(([, n]) => n > 0);
  if (parts.length === 0) return null;
  const list = parts.map(([dimension, n]) => `${n} by ${dimension.replace("_", " ")}`).join(", ");
  return (
    <p class="note">
      <Icon name="warn" /> Label limit reached: some streams count under “other” ({list}).
    </p>
  );
}

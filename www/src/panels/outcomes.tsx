/** Counts of each outcome and each defect, with its meaning. A click filters by it. */
import type { ComponentChildren } from "preact";

import type { Dimension, Outcome, Summary } from "../api/api-types";
import { DEFECT_MEANINGS } from "../api/defects";
import { GLOSSARY } from "../api/glossary";
import { count, humanize, percent, plural } from "../format";
import { isOnly, toggleOnly } from "../state";
import { OUTCOME_STYLES, OutcomeMark } from "../ui/outcome";
import { Term } from "../ui/term";
import { OUTCOMES } from "../url";

export function OutcomesAndDefects({ summary }: { summary: Summary }) {
  return (
    <div class="pair">
      <Outcomes summary={summary} />
      <Defects summary={summary} />
    </div>
  );
}

function Outcomes({ summary: { outcomes, streams } }: { summary: Summary }) {
  const seen = OUTCOMES.filter((outcome) => outcomes[outcome]);
  return (
    <section class="figure" data-counts="outcomes" aria-labelledby="outcomes-title">
      <div class="figure-head">
        <h2 id="outcomes-title">
          <Term meaning={GLOSSARY.outcome}>Outcomes</Term>
        </h2>
      </div>
      {seen.length === 0 ? (
        <p class="nothing">No streams ended in this time range.</p>
      ) : (
        <ul class="ledger">
          {seen.map((outcome) => (
            <OutcomeLine key={outcome} outcome={outcome} n={outcomes[outcome] ?? 0} total={streams} />
          ))}
        </ul>
      )}
    </section>
  );
}

function OutcomeLine({ outcome, n, total }: { outcome: Outcome; n: number; total: number }) {
  const name = <OutcomeMark outcome={outcome} />;
  return <Line dimension="outcome" value={outcome} {...{ n, total, name, ...OUTCOME_STYLES[outcome] }} />;
}

function Defects({ summary: { defects, streams } }: { summary: Summary }) {
  const seen = Object.entries(defects)
    .filter(([, n]) => n > 0)
    .sort(([, a], [, b]) => b - a);
  return (
    <section class="figure" data-counts="defects" aria-labelledby="defects-title">
      <div class="figure-head">
        <h2 id="defects-title">
          <Term meaning={GLOSSARY.defect}>Stream defects</Term>
        </h2>
      </div>
      {seen.length === 0 ? (
        <p class="nothing">
          {streams === 0 ? "No streams ended in this time range." : `None in ${plural(streams, "stream")}.`}
        </p>
      ) : (
        <ul class="ledger">
          {seen.map(([name, n]) => (
            <DefectLine key={name} name={name} n={n} total={streams} />
          ))}
        </ul>
      )}
    </section>
  );
}

function DefectLine({ name, n, total }: { name: string; n: number; total: number }) {
  const { meaning, losesContent } = DEFECT_MEANINGS[name] ?? {};
  return (
    <Line
      dimension="defect"
      value={name}
      {...{ n, total, meaning, tone: losesContent ? "bad" : "quiet" }}
      name={<span class={losesContent ? "bad" : ""}>{humanize(name)}</span>}
    />
  );
}

interface LineProps {
  name: ComponentChildren;
  meaning: string | undefined;
  n: number;
  total: number;
  tone: string;
  dimension: Dimension;
  value: string;
}

/** A count with its share of all streams. */
function Line({ name, meaning, n, total, tone, dimension, value }: LineProps) {
  return (
    <li>
      <button
        type="button"
        aria-pressed={isOnly(dimension, [value])}
        title={`Filter by ${dimension}`}
        onClick={() => toggleOnly(dimension, [value])}
      >
        {name}
        <small>{meaning}</small>
        <span class="ledger-count">
          {count(n)} <small>{percent(n / total)}</small>
        </span>
        <progress class={tone} value={n} max={total} aria-hidden="true" />
      </button>
    </li>
  );
}

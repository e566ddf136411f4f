/** Error budgets in; the most urgent of them, what is left of each and how long it lasts, out. */
import type { Budgets as BudgetsAnswer } from "../api/api-types";
import type { AsyncResult } from "../api/async-result";
import {
  ALERT_WORDS,
  burnDown,
  hasEnough,
  leftText,
  lengthText,
  ranked,
  rateOver,
  rateText,
  standingOf,
  tellBudget,
  type Held,
  type Standing,
} from "./error-budget";
import { plural, humanize } from "../format";
import { Icon, type IconName } from "../ui/icon";
import { setFilter } from "../state";

export function Budgets({ asked }: { asked: AsyncResult<BudgetsAnswer> }) {
  if (asked.kind === "known" && asked.value.slos.every(({ budgets }) => budgets.length === 0)) return null;
  return (
    <section class="budgets" aria-labelledby="budgets-title" data-budgets={asked.kind}>
      {asked.kind === "known" ? (
        <Known answer={asked.value} />
      ) : (
        <>
          <h2 id="budgets-title">Error budgets</h2>
          <p class="dim">{asked.kind === "loading" ? "Asking…" : `Not known. ${asked.message}`}</p>
        </>
      )}
    </section>
  );
}

function Known({ answer: { slos, more } }: { answer: BudgetsAnswer }) {
  const all = ranked(slos);
  const first = all.slice(0, SHOWN);
  const rest = all.slice(SHOWN);
  const names = new Set(all.map(({ useCase }) => useCase));
  const single = names.size === 1 ? first[0] : undefined;
  return (
    <>
      <h2 id="budgets-title">
        {single ? `Error budget of ${humanize(single.useCase)}` : "Error budgets"}
        {" "}
        <small>{first[0]?.days} days</small>
      </h2>
      <Lines held={first} isNamed={!single} />
      {rest.length > 0 && (
        <details>
          <summary>{plural(rest.length, "further budget")}</summary>
          <Lines held={rest} isNamed={!single} />
        </details>
      )}
      <BurnRates held={all} isNamed={!single} />
      {more > 0 && <p class="beyond">{plural(more, "use case")} with fewer streams not shown.</p>}
    </>
  );
}

function Lines({ held, isNamed }: { held: Held[]; isNamed: boolean }) {
  return (
    <ul>
      {held.map((one) => (
        <Line key={`${one.useCase} ${one.budget.promise}`} held={one} isNamed={isNamed} />
      ))}
    </ul>
  );
}

const LOOKS: Record<Standing, IconName> = { good: "good", warn: "warn", bad: "bad", none: "none" };

function Line({ held, isNamed }: { held: Held; isNamed: boolean }) {
  const { budget, useCase } = held;
  const { promise, alert, remaining } = budget;
  const standing = standingOf(budget);
  return (
    <li data-budget={promise} data-use-case={useCase} data-remaining={remaining ?? ""}>
      <span class={standing === "none" ? "dim" : standing}>
        <Icon name={LOOKS[standing]} />
      </span>
      <h3>
        {isNamed && (
          <button
            type="button"
            class="narrow"
            title="Only this use case"
            onClick={() => setFilter("use_case", useCase)}
          >
            {humanize(useCase)}
          </button>
        )}
        {isNamed && " "}
        {promise}
      </h3>
      {alert && (
        <span class={`alert ${standing}`} title={`It ${ALERT_WORDS[alert].meaning}`}>
          {ALERT_WORDS[alert].word}
        </span>
      )}
      {hasEnough(budget) && <BurnDown held={held} standing={standing} />}
      <strong class={standing === "bad" ? "bad" : standing === "none" ? "dim" : undefined}>{leftText(budget)}</strong>
      <p>{tellBudget(held)}</p>
    </li>
  );
}

/** How the period's budget went, from whole at its begin to what is left now; the foot is nothing left. */
function BurnDown({ held: { budget, from, to }, standing }: { held: Held; standing: Standing }) {
  const x = (t: number) => ((Math.max(from, Math.min(to, t)) - from) / (to - from)) * 100;
  const y = (left: number) => 2 + (1 - Math.max(0, left)) * 20;
  const steps = burnDown(budget).map(({ t, left }) => `H${x(t)}L${x(t + DAY_MS)} ${y(left)}`);
  return (
    <svg class={`burn-down ${standing}`} viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <path class="foot" d="M0 22.5H100" />
      <path class="left" d={`M0 ${y(1)}${steps.join("")}H100`} />
    </svg>
  );
}

function BurnRates({ held, isNamed }: { held: Held[]; isNamed: boolean }) {
  const lengths = held[0]?.budget.burn.map(({ minutes }) => minutes) ?? [];
  return (
    <details>
      <summary>How fast they go</summary>
      <p class="dim">
        The share that broke the promise over the share that may. At 1× the budget lasts for its period.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Burn rates">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Over the last</th>
              {lengths.map((minutes) => (
                <th key={minutes} scope="col">
                  {lengthText(minutes)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {held.map(({ useCase, budget }) => (
              <tr key={`${useCase} ${budget.promise}`}>
                <th scope="row">
                  {isNamed && `${humanize(useCase)} `}
                  {budget.promise}
                </th>
                {lengths.map((minutes) => (
                  <Rate key={minutes} rate={rateOver(budget, minutes)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function Rate({ rate }: { rate: number | null }) {
  return <td>{rate !== null && rate > 1 ? <b>{rateText(rate)}</b> : rateText(rate)}</td>;
}

/** The others stand behind a line that opens. */
const SHOWN = 3;
const DAY_MS = 86_400_000;

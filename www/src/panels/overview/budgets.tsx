/** Error budgets beside the verdict: the most urgent ones, their remaining share and their burn rates. */
import type { Budgets as BudgetsAnswer, ObjectiveName } from "../../api/api-types";
import type { AsyncResult } from "../../api/async-result";
import { GLOSSARY } from "../../api/glossary";
import { Answered } from "../../charts/figure";
import { humanize, plural } from "../../format";
import { setFilters } from "../../state";
import { Icon, type IconName } from "../../ui/icon";
import { TableHead } from "../../ui/table-head";
import { Term } from "../../ui/term";
import { BudgetMarkers } from "./budget-markers";
import {
  ALERT_LABELS,
  burnDown,
  burnRateOver,
  burnRateText,
  byUrgency,
  describeBudget,
  hasEnoughStreams,
  remainingText,
  statusOf,
  windowText,
  type BudgetStatus,
  type UseCaseBudget,
} from "./error-budget";

export function Budgets({ result }: { result: AsyncResult<BudgetsAnswer> }) {
  if (result.kind === "known" && result.value.slos.every(({ budgets }) => budgets.length === 0)) return null;
  return (
    <section class="budgets" aria-labelledby="budgets-title" data-budgets={result.kind}>
      {result.kind === "known" ? (
        <KnownBudgets answer={result.value} />
      ) : (
        <>
          <h2 id="budgets-title">Error budgets</h2>
          <Answered result={result}>{() => null}</Answered>
        </>
      )}
    </section>
  );
}

function KnownBudgets({ answer: { slos, omitted } }: { answer: BudgetsAnswer }) {
  const all = byUrgency(slos);
  const first = all.slice(0, MAX_SHOWN);
  const rest = all.slice(MAX_SHOWN);
  const names = new Set(all.map(({ site, useCase }) => `${site} ${useCase}`));
  const single = names.size === 1 ? first[0] : undefined;
  const severalSites = new Set(all.map(({ site }) => site)).size > 1;
  return (
    <>
      <h2 id="budgets-title">
        <Term meaning={GLOSSARY["error budget"]}>
          {single ? `Error budget of ${humanize(single.useCase)}` : "Error budgets"}
        </Term>
        {" "}
        <small>{first[0]?.days} days</small>
      </h2>
      <Lines items={first} isNamed={!single} severalSites={severalSites} />
      {rest.length > 0 && (
        <details>
          <summary>Show {plural(rest.length, "more SLO")}</summary>
          <Lines items={rest} isNamed={!single} severalSites={severalSites} />
        </details>
      )}
      <BurnRates items={all} isNamed={!single} severalSites={severalSites} />
      {first[0] && <BudgetMarkers period={first[0]} />}
      {omitted > 0 && <p class="beyond">{plural(omitted, "more use case")} with fewer streams.</p>}
    </>
  );
}

interface Naming {
  isNamed: boolean;
  severalSites: boolean;
}

function nameOf({ site, useCase }: UseCaseBudget, severalSites: boolean): string {
  return severalSites ? `${site} ${humanize(useCase)}` : humanize(useCase);
}

function Lines({ items, ...naming }: { items: UseCaseBudget[] } & Naming) {
  return (
    <ul>
      {items.map((item) => (
        <Line key={`${item.site} ${item.useCase} ${item.budget.objective}`} item={item} {...naming} />
      ))}
    </ul>
  );
}

const STATUS_ICONS: Record<BudgetStatus, IconName> = { good: "good", warn: "warn", bad: "bad", none: "none" };

function Line({ item, isNamed, severalSites }: { item: UseCaseBudget } & Naming) {
  const { budget, useCase, site } = item;
  const { objective, alert, remaining } = budget;
  const status = statusOf(budget);
  return (
    <li data-budget={objective} data-use-case={useCase} data-remaining={remaining ?? ""}>
      <span class={status === "none" ? "dim" : status}>
        <Icon name={STATUS_ICONS[status]} />
      </span>
      <h3>
        {isNamed && (
          <button
            type="button"
            class="narrow"
            title="Show only this use case"
            onClick={() => setFilters({ site: site === null ? [] : [site], use_case: [useCase] })}
          >
            {nameOf(item, severalSites)}
          </button>
        )}
        {isNamed && " "}
        <Term meaning={OBJECTIVE_MEANINGS[objective]}>{objective}</Term>
      </h3>
      {alert && (
        <span class={`alert ${status}`} title={ALERT_LABELS[alert].meaning}>
          {ALERT_LABELS[alert].label}
        </span>
      )}
      {hasEnoughStreams(budget) && <BurnDown item={item} status={status} />}
      <strong class={status === "bad" ? "bad" : status === "none" ? "dim" : undefined}>{remainingText(budget)}</strong>
      <p>{describeBudget(item)}</p>
    </li>
  );
}

/** Remaining budget over the period, from full at the top to used up at the bottom. */
function BurnDown({ item: { budget, from, to }, status }: { item: UseCaseBudget; status: BudgetStatus }) {
  const x = (t: number) => ((Math.max(from, Math.min(to, t)) - from) / (to - from)) * 100;
  const y = (left: number) => 2 + (1 - Math.max(0, left)) * 20;
  const steps = burnDown(budget).map(({ timestamp_ms: t, left }) => `H${x(t)}L${x(t + DAY_MS)} ${y(left)}`);
  return (
    <svg class={`burn-down ${status}`} viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <path class="foot" d="M0 22.5H100" />
      <path class="left" d={`M0 ${y(1)}${steps.join("")}H100`} />
    </svg>
  );
}

function BurnRates({ items, isNamed, severalSites }: { items: UseCaseBudget[] } & Naming) {
  const windows = items[0]?.budget.burn_rates.map(({ minutes }) => minutes) ?? [];
  return (
    <details>
      <summary>Burn rates</summary>
      <p class="dim">Burn rate: {GLOSSARY["burn rate"]}.</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Burn rates">
        <table class="plain">
          <TableHead columns={[["Window"], ...windows.map((minutes) => [windowText(minutes)] as const)]} />
          <tbody>
            {items.map((item) => (
              <tr key={`${item.site} ${item.useCase} ${item.budget.objective}`}>
                <th scope="row">
                  {isNamed && `${nameOf(item, severalSites)} `}
                  {item.budget.objective}
                </th>
                {windows.map((minutes) => (
                  <Rate key={minutes} rate={burnRateOver(item.budget, minutes)} />
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
  return <td>{rate !== null && rate > 1 ? <b>{burnRateText(rate)}</b> : burnRateText(rate)}</td>;
}

const OBJECTIVE_MEANINGS: Record<ObjectiveName, string> = {
  availability: GLOSSARY.availability,
  integrity: GLOSSARY["streaming integrity"],
  speed: GLOSSARY.speed,
  pace: GLOSSARY.pace,
};

/** Further budgets are in a collapsed list. */
const MAX_SHOWN = 3;
const DAY_MS = 86_400_000;

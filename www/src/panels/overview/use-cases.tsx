/** One row for each use case of each site, worst first: status, wait, failures, budget and alerts. */
import type { Summary } from "../../api/api-types";
import { GLOSSARY } from "../../api/glossary";
import { ABSENT, columnDuration, count, duration, humanize, isKnown, percent } from "../../format";
import { metricPhrase } from "../../metric";
import { setFilters } from "../../state";
import { Icon } from "../../ui/icon";
import { TableHead, type Column } from "../../ui/table-head";
import { ALERT_LABELS, URGENT } from "./error-budget";
import { LEVELS } from "./verdict";

type Row = Summary["by_use_case"][number];

const COLUMNS: readonly Column[] = [
  ["Status", undefined, GLOSSARY.verdict],
  ["Use case", undefined, GLOSSARY["use case"]],
  ["p50", "number mid"],
  ["p90", "number wide"],
  ["p95", "number", GLOSSARY.percentile],
  ["p99", "number wide"],
  ["p95 target", "number wide", GLOSSARY.target],
  ["Errors", "number", GLOSSARY.error],
  ["Intact", "number wide", GLOSSARY.intact],
  ["Goodput", "number wide", GLOSSARY.goodput],
  ["Budget left", "number mid", GLOSSARY["error budget"]],
  ["Streams", "number mid"],
];

/** A single use case has the whole screen already. */
export function UseCases({ summary: { by_use_case: rows } }: { summary: Summary }) {
  if (rows.length < 2) return null;
  return (
    <section class="use-cases" aria-labelledby="use-cases-title" data-use-cases={rows.length}>
      <h2 id="use-cases-title">Sites and use cases</h2>
      <table class="stream-table breakdown-table">
        <TableHead columns={COLUMNS} />
        <tbody>
          {rows.map((row) => (
            <UseCase key={`${row.site} ${row.use_case}`} row={row} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function UseCase({ row }: { row: Row }) {
  const { site, use_case: useCase, level, metric, p95_ms: p95, availability } = row;
  const target = metric === "e2e" ? row.targets.e2e_p95_ms : row.targets.ttft_p95_ms;
  const isSlow = isKnown(p95) && isKnown(target) && p95 > target;
  const errors = isKnown(availability.ratio) ? 1 - availability.ratio : null;
  const isFailing = isKnown(errors) && isKnown(row.targets.availability) && errors > 1 - row.targets.availability;
  const what = metricPhrase(metric === "e2e" ? "e2e" : "ttfv");
  const { icon, label } = LEVELS[level];
  return (
    <tr data-site={site} data-use-case={useCase} data-level={level}>
      <td class={`status ${level}`}>
        <Icon name={icon} /> <span class="status-label">{label}</span>
      </td>
      <td class="model-cell">
        <button
          type="button"
          class="narrow"
          title="Show only this use case"
          onClick={() => setFilters({ site: [site], use_case: [useCase] })}
        >
          {site} {humanize(useCase)}
        </button>
        {metric === "e2e" && <small> end to end</small>}
        <Alerts row={row} />
      </td>
      <td class="number mid" title={what}>
        {columnDuration(row.p50_ms)}
      </td>
      <td class="number wide" title={what}>
        {columnDuration(row.p90_ms)}
      </td>
      <td class={`number strong${isSlow ? " bad" : ""}`} title={what}>
        {columnDuration(p95)}
      </td>
      <td class="number wide" title={what}>
        {columnDuration(row.p99_ms)}
      </td>
      <td class="number wide dim">{isKnown(target) ? `≤ ${duration(target)}` : ABSENT}</td>
      <td class={`number${isFailing ? " bad" : ""}`}>{percent(errors)}</td>
      <td class="number wide">{percent(row.integrity.ratio)}</td>
      <td class="number wide">{percent(row.goodput.ratio)}</td>
      <td class={`number mid${(row.least_budget?.remaining ?? 0) < 0 ? " bad" : ""}`} title={row.least_budget?.objective}>
        {budgetText(row)}
      </td>
      <td class="number mid">{count(row.streams)}</td>
    </tr>
  );
}

function Alerts({ row: { alerts } }: { row: Row }) {
  return (
    <>
      {alerts.map(({ severity, rule }) => (
        <span
          key={`${severity} ${rule}`}
          class={`alert ${URGENT.includes(severity) ? "bad" : "warn"}`}
          title={`${ALERT_LABELS[severity].meaning} (${rule})`}
        >
          {ALERT_LABELS[severity].label}
        </span>
      ))}
    </>
  );
}

function budgetText({ least_budget: budget }: Row): string {
  if (!budget) return ABSENT;
  return budget.remaining < 0 ? "overspent" : percent(budget.remaining);
}

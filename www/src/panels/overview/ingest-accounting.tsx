/** Footer with the ingest accounting: a summary, the tables behind it, and warnings. */
import type { Accounting } from "../../api/api-types";
import type { AsyncResult } from "../../api/async-result";
import { count } from "../../format";
import { accounting, session } from "../../state";
import { probeOverheadSummary } from "../../stream/probe-overhead";
import { Icon } from "../../ui/icon";
import {
  accountingSummary,
  accountingTables,
  accountingWarnings,
  type CountRow,
  type CountTable,
} from "./accounting-summary";

export function IngestAccounting({ result }: { result: AsyncResult<Accounting> }) {
  // The accounting covers all sites: the collector refuses it to a session that is limited to some.
  if (result.kind === "loading" || session.value?.sites !== undefined) return null;
  if (result.kind === "failed")
    return (
      <footer class="accounting" data-accounting="failed">
        <p>Could not load the ingest accounting. {result.message}</p>
      </footer>
    );
  const warnings = accountingWarnings(result.value);
  const overhead = probeOverheadSummary(result.value);
  return (
    <footer class="accounting" id="accounting" data-accounting={warnings.length > 0 ? "loud" : "quiet"}>
      <Warnings warnings={warnings} />
      <p>{accountingSummary(result.value)}</p>
      {overhead && <p data-probe-overhead>{overhead}</p>}
      <details>
        <summary>Ingest accounting</summary>
        <div class="accounting-tables">
          {accountingTables(result.value).map((table) => (
            <CountList key={table.title} table={table} />
          ))}
        </div>
      </details>
    </footer>
  );
}

/** The warnings of the accounting, for the top of the screen. */
export function AccountingWarnings() {
  const result = accounting.value;
  if (result.kind !== "known") return null;
  return <Warnings warnings={accountingWarnings(result.value)} />;
}

export function Warnings({ warnings }: { warnings: string[] }) {
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="note warn">
          <Icon name="warn" /> {warning}
        </p>
      ))}
    </>
  );
}

function CountList({ table: { title, total, rows } }: { table: CountTable }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        <Line entry={total} />
        {rows.map((entry) => (
          <Line key={entry.name} entry={entry} />
        ))}
      </dl>
    </section>
  );
}

function Line({ entry: { name, meaning, count: n } }: { entry: CountRow }) {
  return (
    <div>
      <dt>
        {name} {meaning && <small>{meaning}</small>}
      </dt>
      <dd>{count(n)}</dd>
    </div>
  );
}

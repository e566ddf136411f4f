/** The collector's books in, a quiet line at the foot out, with the sums behind it; loud when something is amiss. */
import type { Accounting } from "../api/api-types";
import type { AsyncResult } from "../api/async-result";
import { pagesOf, readBooks, troublesOf, type Entry, type Page } from "./accounting-summary";
import { probeOverheadSummary } from "../stream/probe-overhead";
import { count } from "../format";
import { Icon } from "../ui/icon";
import { accounting } from "../state";

export function Books({ asked }: { asked: AsyncResult<Accounting> }) {
  if (asked.kind === "loading") return null;
  if (asked.kind === "failed")
    return (
      <footer class="books" data-books="failed">
        <p>What was received and what became of it is not known. {asked.message}</p>
      </footer>
    );
  const troubles = troublesOf(asked.value);
  const cost = probeOverheadSummary(asked.value);
  return (
    <footer class="books" id="books" data-books={troubles.length > 0 ? "loud" : "quiet"}>
      <Troubles troubles={troubles} />
      <p>{readBooks(asked.value)}</p>
      {cost && <p data-cost>{cost}</p>}
      <details>
        <summary>The books</summary>
        <div class="books-pages">
          {pagesOf(asked.value).map((page) => (
            <Sum key={page.title} page={page} />
          ))}
        </div>
      </details>
    </footer>
  );
}

/** At the head of the screen: that its figures do not show everything. */
export function BooksNote() {
  const asked = accounting.value;
  if (asked.kind !== "known") return null;
  return <Troubles troubles={troublesOf(asked.value)} />;
}

function Troubles({ troubles }: { troubles: string[] }) {
  return (
    <>
      {troubles.map((trouble) => (
        <p key={trouble} class="note warn">
          <Icon name="warn" /> {trouble}
        </p>
      ))}
    </>
  );
}

function Sum({ page: { title, sum, entries } }: { page: Page }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        <Line entry={sum} />
        {entries.map((entry) => (
          <Line key={entry.name} entry={entry} />
        ))}
      </dl>
    </section>
  );
}

function Line({ entry: { name, about, count: held } }: { entry: Entry }) {
  return (
    <div>
      <dt>
        {name} {about && <small>{about}</small>}
      </dt>
      <dd>{count(held)}</dd>
    </div>
  );
}

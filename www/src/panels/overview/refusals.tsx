/** The last refused senders, with the line of the configuration that would accept each. */
import type { Refusal } from "../../api/api-types";
import { count, dateTime, humanize } from "../../format";
import { outsideRange } from "../../state";

/** More would push the script tag off the screen. */
const MAX_SHOWN = 5;

export function Refusals() {
  const refusals = outsideRange.value?.refusals ?? [];
  if (refusals.length === 0) return null;
  const newest = refusals[0]?.timestamp_ms ?? 0;
  return (
    <section class="refusals" aria-labelledby="refusals-title" data-refusals={refusals.length}>
      <h3 id="refusals-title">Refused since the collector started</h3>
      <ul>
        {refusals.slice(0, MAX_SHOWN).map((refusal) => (
          <Refused key={keyOf(refusal)} refusal={refusal} now={newest} />
        ))}
      </ul>
      <p class="dim">
        Add a line only if the page is yours: anyone can send these requests. Then restart the collector.
      </p>
    </section>
  );
}

function Refused({ refusal, now }: { refusal: Refusal; now: number }) {
  const { reason, origin, key_prefix: key, site, config_line: line, timestamp_ms: at } = refusal;
  return (
    <li data-refusal={reason}>
      <p>
        <b>{humanize(reason)}</b> · {origin ?? "no origin"} · {key == null ? "no key" : <>key <code>{key}</code></>} ·{" "}
        {count(refusal.count)}× <span class="dim">last at {dateTime(at, now)}</span>
      </p>
      {line != null && (
        <>
          <p class="dim">
            {reason === "unknown_site"
              ? "Correct the key of the page, or complete it and add it to its site:"
              : `Below the name of the site “${site}” in the configuration:`}
          </p>
          <pre tabIndex={0}>
            <code>{line}</code>
          </pre>
        </>
      )}
    </li>
  );
}

const keyOf = ({ reason, origin, key_prefix: key, site }: Refusal) => JSON.stringify([reason, origin, key, site]);

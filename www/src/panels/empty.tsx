/** Screen without data: how to install the probe, or how to widen the range. */
import { rangeLabel } from "../charts/chart-captions";
import { dateTime } from "../format";
import { nextRangeCovering } from "../polling/resolution";
import { dashboardData, navigate, outsideRange, setRange, view } from "../state";
import { AccountingWarnings } from "./ingest-accounting";

export function Empty() {
  const outside = outsideRange.value;
  return outside?.newestOfAll ? (
    <NoStreamsInRange newestMs={outside.newest?.received_ms ?? null} ofAllMs={outside.newestOfAll.received_ms} />
  ) : (
    <NoStreamsYet siteKey={outside?.siteKey ?? null} />
  );
}

function NoStreamsYet({ siteKey }: { siteKey: string | null }) {
  const script = new URL("llm-rum.js", document.baseURI).href;
  const snippet = `<script async src="${script}" data-site="${siteKey ?? "YOUR_SITE_KEY"}"></script>`;
  return (
    <section class="empty" data-empty="ever">
      <h2>Waiting for the first stream</h2>
      <AccountingWarnings />
      <p>Put this line into the page that shows your model’s answers, before the code that asks for them:</p>
      <pre>
        <code>{snippet}</code>
      </pre>
      {siteKey === null && (
        <p>
          Its key is one of those that <code>sites</code> in the collector’s configuration names.
        </p>
      )}
      <p>
        <a href="snippet">The same with integrity hashes</a>, a content security policy, and for npm.
      </p>
      <p>
        Then ask the model something. The answer shows here a few seconds after it ends, without a word of its
        text: only how it arrived.
      </p>
      <p class="dim">
        No page at hand? <code>cargo xtask demo</code> starts one with a scripted model behind it, on{" "}
        <a href="http://127.0.0.1:8788">127.0.0.1:8788</a>.
      </p>
    </section>
  );
}

interface NoneInRangeProps {
  /** Newest stream with the filters; `null` if none is stored. */
  newestMs: number | null;
  ofAllMs: number;
}

function NoStreamsInRange({ newestMs, ofAllMs }: NoneInRangeProps) {
  const { range, filters } = view.value;
  const hasFilters = Object.keys(filters).length > 0;
  const now = dashboardData.value?.summary.to ?? ofAllMs;
  const wider = newestMs === null ? undefined : nextRangeCovering(range, now - newestMs);
  return (
    <section class="empty" data-empty="range">
      <h2>
        No {hasFilters ? "such " : ""}streams in {rangeLabel(range)}
      </h2>
      <AccountingWarnings />
      <p>
        {newestMs === null
          ? `None of the streams that are kept is such a one; the newest of all arrived at ${dateTime(ofAllMs, now)}.`
          : `The newest ${hasFilters ? "such stream" : "stream of all"} arrived at ${dateTime(newestMs, now)}.`}
      </p>
      <p class="actions">
        {hasFilters && (
          <button type="button" class="more" onClick={() => navigate({ filters: {} })}>
            Remove the filters
          </button>
        )}
        {wider && (
          <button type="button" class="more" onClick={() => setRange(wider)}>
            Show {rangeLabel(wider)}
          </button>
        )}
      </p>
    </section>
  );
}

/** Screen without data: how to install the probe, or how to widen the range. */
import { rangeLabel } from "../../charts/chart-captions";
import { isFixed } from "../../api/range";
import { dateTime } from "../../format";
import { nextRangeCovering } from "../../polling/resolution";
import { dashboardData, navigate, outsideRange, setRange, view } from "../../state";
import { AccountingWarnings } from "./ingest-accounting";
import { Refusals } from "./refusals";

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
      <Refusals />
      <p>Add this script tag to the page that shows your model’s responses, before the code that requests them:</p>
      <pre>
        <code>{snippet}</code>
      </pre>
      {siteKey === null && (
        <p>
          Replace the key with one from <code>sites</code> in the collector’s configuration.
        </p>
      )}
      <p>
        <a href="snippet">More options</a>: integrity hashes, content security policy, npm.
      </p>
      <p>
        Then send a prompt to the model. The stream appears here a few seconds after it ends. The probe reports
        neither prompts nor responses.
      </p>
      <p class="dim">
        No page yet? <code>cargo xtask demo</code> starts a demo page with a scripted model on{" "}
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
  const data = dashboardData.value;
  const now = (isFixed(range) ? data?.loadedAt : data?.summary.to) ?? ofAllMs;
  const wider = newestMs === null ? undefined : nextRangeCovering(range, now - newestMs);
  return (
    <section class="empty" data-empty="range">
      <h2>
        No {hasFilters ? "matching " : ""}streams in {rangeLabel(range)}
      </h2>
      <AccountingWarnings />
      <Refusals />
      <p>
        {newestMs === null
          ? `No stored stream matches the filters. The newest stream arrived at ${dateTime(ofAllMs, now)}.`
          : `The newest ${hasFilters ? "matching stream" : "stream"} arrived at ${dateTime(newestMs, now)}.`}
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

/** Sheet of one stream: its summary, timeline, inter-chunk latency and fields. */
import { useEffect, useRef, useState } from "preact/hooks";

import type { StreamReport } from "../api/api-types";
import { filtersOfKind, modelOf } from "../api/stream-columns";
import { Bars } from "../charts/bars";
import { PhaseLegend, StackedBar } from "../charts/phase-bars";
import { longestOf } from "../charts/phase-stack";
import { dateTime, duration, isKnown } from "../format";
import { closeStream, connection, opened, openStream, rows, setFilters, view } from "../state";
import { Icon } from "../ui/icon";
import { OutcomeMark } from "../ui/outcome";
import { fieldsOf } from "./fields";
import { FilterButton } from "./filter-button";
import { gapBuckets } from "./gap-buckets";
import { missingGapsReason, streamSummary } from "./stream-summary";
import { Timeline } from "./timeline";

export function Detail() {
  const id = view.value.stream;
  if (id === null) return null;
  return <Sheet key="sheet" id={id} />;
}

function Sheet({ id }: { id: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const last = useRef(id);
  last.current = id;
  useEffect(() => {
    const sheet = dialog.current;
    if (!sheet) return undefined;
    const opener = document.activeElement;
    const section = opener?.closest("section") ?? null;
    sheet.showModal();
    // Focus the heading, not the first button, so that screen readers read the content first.
    sheet.querySelector("h2")?.focus();
    return () => {
      sheet.close();
      restoreFocus(opener, section, last.current);
    };
  }, []);
  const shown = opened.value;
  return (
    <dialog
      ref={dialog}
      class="sheet"
      data-detail={id}
      aria-labelledby="detail-title"
      onCancel={closeStream}
      onClick={(event) => event.target === event.currentTarget && closeStream()}
    >
      <div class="sheet-inside">
        <SheetHead id={id} />
        {shown === null && (
          <p class="nothing">{connection.value.kind === "failed" ? connection.value.message : "Loading…"}</p>
        )}
        {shown && "missing" in shown && (
          <p class="nothing">
            {shown.mayArrive
              ? "Not found yet. A stream appears a few seconds after its first report. Retrying…"
              : `Not found: ${shown.missing}. The stream was never stored, or its retention has ended.`}
          </p>
        )}
        {shown && "report" in shown && <Report report={shown.report} />}
      </div>
    </dialog>
  );
}

/** Returns the focus to the opener of the sheet. Scrolls only if the sheet moved on to another row. */
function restoreFocus(opener: Element | null, place: Element | null, id: string): void {
  const row = rowOf(id);
  const isIn = opener instanceof HTMLElement && opener.isConnected && opener !== document.body;
  if (opener instanceof HTMLTableRowElement && row) row.focus({ preventScroll: row === opener });
  else if (isIn && !opener.closest("[inert]")) opener.focus({ preventScroll: true });
  // The live strip can have moved on: focus the stream that took the place.
  else (place?.querySelector<HTMLElement>("li:not([inert]) > button") ?? row)?.focus({ preventScroll: true });
}

function rowOf(id: string): HTMLElement | null {
  return document.querySelector(`tr[data-stream="${CSS.escape(id)}"]`);
}

function SheetHead({ id }: { id: string }) {
  const at = rows.value.findIndex((row) => row.id === id);
  const neighbour = (by: number) => (at === -1 ? undefined : rows.value[at + by]);
  const shown = opened.value;
  return (
    <header class="sheet-head">
      <h2 id="detail-title" tabIndex={-1}>
        {shown && "report" in shown ? modelOf(shown.report) : "Stream"}
      </h2>
      <nav aria-label="Streams">
        <NeighbourButton icon="newer" label="Newer" row={neighbour(-1)} />
        <NeighbourButton icon="older" label="Older" row={neighbour(1)} />
        <button type="button" class="quiet" onClick={closeStream} title="Close">
          <Icon name="close" />
          <span class="unseen">Close</span>
        </button>
      </nav>
    </header>
  );
}

function NeighbourButton({
  icon,
  label,
  row,
}: {
  icon: "newer" | "older";
  label: string;
  row: StreamReport | undefined;
}) {
  return (
    <button
      type="button"
      class="quiet"
      disabled={!row}
      onClick={() => row && openStream(row.id)}
      title={`${label} stream`}
    >
      <Icon name={icon} />
      <span class="unseen">{label}</span>
    </button>
  );
}

function Report({ report }: { report: StreamReport }) {
  return (
    <>
      <p class="detail-line">
        <OutcomeMark outcome={report.outcome} open={report.open ?? false} />
        <span>{dateTime(report.received_ms, Date.now())}</span>
        <code>{report.id}</code>
      </p>
      <p class="lead">{streamSummary(report)}</p>
      <p>
        <button type="button" class="more small" onClick={() => setFilters(filtersOfKind(report))}>
          Streams like this one
        </button>
      </p>
      <Wait report={report} />
      <Timeline report={report} />
      <GapHistogram report={report} />
      <Fields report={report} />
    </>
  );
}

/** The phases of the wait for the first token. */
function Wait({ report }: { report: StreamReport }) {
  const { phases: parts, ttft_ms } = report;
  if (!parts) return null;
  const stack = { label: "first token", parts, wait: ttft_ms ?? null };
  return (
    <section>
      <h3>Where the wait passes</h3>
      <PhaseLegend parts={parts} />
      <StackedBar stack={stack} most={longestOf([stack])} />
    </section>
  );
}

function GapHistogram({ report }: { report: StreamReport }) {
  const { gaps } = report;
  return (
    <section aria-labelledby="gaps-title">
      <h3 id="gaps-title">Inter-chunk latency</h3>
      {gaps ? (
        <Bars
          buckets={gapBuckets(gaps)}
          marks={
            isKnown(report.longest_gap_ms)
              ? [
                  {
                    label: `longest ${duration(report.longest_gap_ms)}`,
                    value: report.longest_gap_ms,
                    tone: "p95",
                    kind: "percentile",
                  },
                ]
              : []
          }
          height={152}
          label="Histogram of the inter-chunk latency"
        />
      ) : (
        <p class="nothing">{missingGapsReason(report)}</p>
      )}
    </section>
  );
}

function Fields({ report }: { report: StreamReport }) {
  return (
    <section class="fields" aria-labelledby="fields-title">
      <div class="figure-head">
        <h3 id="fields-title">All fields</h3>
        <CopyButton text={() => JSON.stringify(report, null, 2)} />
      </div>
      {fieldsOf(report).map(({ title, entries }) => (
        <div key={title} class="field-group">
          <h4>{title}</h4>
          <dl>
            {entries.map(({ name, text, dimension, href }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  {dimension && text ? (
                    <FilterButton dimension={dimension} value={text} />
                  ) : href ? (
                    <a href={href}>{href}</a>
                  ) : (
                    (text ?? <span class="dim">unknown</span>)
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
    </section>
  );
}

function CopyButton({ text }: { text: () => string }) {
  const [word, setWord] = useState("Copy as JSON");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setWord("Copied");
    } catch {
      setWord("The browser blocks copying");
    }
  };
  return (
    <button
      type="button"
      class="more small"
      onClick={() => void copy()}
      onBlur={() => setWord("Copy as JSON")}
    >
      <span aria-live="polite">{word}</span>
    </button>
  );
}

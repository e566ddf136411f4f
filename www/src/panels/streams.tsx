/** Table of streams. A row opens the detail of its stream. */
import type { Outcome, SampleKind, StreamReport, Summary } from "../api/api-types";
import { DEFECTS } from "../api/defects";
import { GLOSSARY } from "../api/glossary";
import { METRIC_LABELS } from "../api/metrics";
import { ABSENT, columnDuration, count, dateTime, humanize, isKnown } from "../format";
import { loadOlder } from "../polling/feed";
import { nextCursor, openStream, rows, setDefect, setFilter, setOutcome, setSample, view } from "../state";
import { modelOf } from "../stream/stream-summary";
import { OUTCOME_STYLES, OutcomeMark } from "../ui/outcome";
import { SegmentedControl } from "../ui/segmented-control";
import { Term } from "../ui/term";
import { OUTCOMES, SAMPLES } from "../url";

/** Label, title and description of each list. */
const LIST_LABELS: Record<SampleKind | "latest", { label: string; title: string; description: string }> = {
  latest: { label: "latest", title: "Latest streams", description: "" },
  slowest: {
    label: "slowest",
    title: "Slowest streams",
    description: "The slowest streams of each site and day, by TTFT.",
  },
  failed: {
    label: "failed",
    title: "Failed streams",
    description: "A random sample of streams that failed or lost content, per site and day, the newest first.",
  },
  uniform: {
    label: "random sample",
    title: "Random sample of streams",
    description: "A random sample of all streams per site and day, the newest first.",
  },
};
const LIST_OPTIONS = (["latest", ...SAMPLES] as const).map((value) => ({ value, label: LIST_LABELS[value].label }));

export function Streams({ summary }: { summary: Summary }) {
  const list = view.value.sample ?? "latest";
  const { title, description } = LIST_LABELS[list];
  return (
    <section class="streams" aria-labelledby="streams-title" data-list={list}>
      <div class="figure-head">
        <h2 id="streams-title">{title}</h2>
        <div class="switches">
          <SegmentedControl<SampleKind | "latest">
            legend="List"
            name="list"
            options={LIST_OPTIONS}
            chosen={list}
            onChoose={(chosen) => setSample(chosen === "latest" ? null : chosen)}
          />
          <ListFilter<Outcome>
            label="Outcome"
            counts={summary.outcomes}
            words={OUTCOMES}
            text={(outcome) => OUTCOME_STYLES[outcome].label}
            chosen={view.value.outcome}
            onChoose={setOutcome}
          />
          <ListFilter
            label="Defect"
            counts={summary.defects}
            words={DEFECTS}
            text={humanize}
            chosen={view.value.defect}
            onChoose={setDefect}
          />
        </div>
      </div>
      {description && <p class="caption about">{description} Kept for long-term reference.</p>}
      {rows.value.length === 0 ? (
        <p class="nothing">No matching streams in this time range.</p>
      ) : (
        <table class="stream-table">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Model</th>
              <th scope="col" class="wide">
                <Term meaning={GLOSSARY.dialect}>Dialect</Term>
              </th>
              <th scope="col">Outcome</th>
              <th scope="col" class="number">
                <Term meaning={METRIC_LABELS.ttfv.meaning}>TTFT</Term>
              </th>
              <th scope="col" class="number wide">
                <Term meaning={METRIC_LABELS.server_ttft.meaning}>Server TTFT</Term>
              </th>
              <th scope="col" class="number mid">
                <Term meaning={METRIC_LABELS.e2e.meaning}>End to end</Term>
              </th>
              <th scope="col" class="number wide">
                <Term meaning={METRIC_LABELS.inter_chunk_latency.meaning}>Max inter-chunk</Term>
              </th>
              <th scope="col" class="number wide">
                <Term meaning={GLOSSARY.chunk}>Chunks</Term>
              </th>
              <th scope="col" class="number mid">
                <Term meaning={GLOSSARY.token}>Tokens</Term>
              </th>
              <th scope="col" class="wide">
                <Term meaning={GLOSSARY.defect}>Defects</Term>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.value.map((row) => (
              <Row key={row.id} row={row} today={summary.to} />
            ))}
          </tbody>
        </table>
      )}
      {nextCursor.value !== null && (
        <button type="button" class="more" onClick={() => void loadOlder()}>
          {list === "slowest" ? "Load more streams" : "Load older streams"}
        </button>
      )}
    </section>
  );
}

interface ListFilterProps<Word extends string> {
  label: string;
  counts: Partial<Record<Word, number>>;
  words: readonly Word[];
  text: (word: Word) => string;
  chosen: Word | null;
  onChoose: (word: Word | null) => void;
}

/** Narrows the list to a word that streams of the range have. */
function ListFilter<Word extends string>({ label, counts, words, text, chosen, onChoose }: ListFilterProps<Word>) {
  const shown = words.filter((word) => counts[word] || word === chosen);
  return (
    <label class="select">
      <span>{label}</span>
      <select value={chosen ?? ""} onChange={(event) => onChoose((event.currentTarget.value || null) as Word | null)}>
        <option value="">all</option>
        {shown.map((word) => (
          <option key={word} value={word}>
            {text(word) + (counts[word] ? ` (${count(counts[word])})` : "")}
          </option>
        ))}
      </select>
    </label>
  );
}

function Row({ row, today }: { row: StreamReport; today: number }) {
  const open = () => openStream(row.id);
  const defects = defectsOf(row);
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLTableRowElement }) => {
    if (event.target !== event.currentTarget) return;
    const neighbour = {
      ArrowDown: event.currentTarget.nextElementSibling,
      ArrowUp: event.currentTarget.previousElementSibling,
    }[event.key];
    if (neighbour instanceof HTMLElement) neighbour.focus();
    else if (event.key === "Enter") open();
    else return;
    event.preventDefault();
  };
  return (
    <tr
      data-stream={row.id}
      data-outcome={row.open ? "open" : row.outcome}
      tabIndex={0}
      onClick={open}
      onKeyDown={onKeyDown}
      aria-label={`Stream of ${modelOf(row)}. Press Enter to open`}
    >
      <td class="when">{dateTime(row.received_ms, today)}</td>
      <td class="model-cell">
        <FilterButton dimension="model" value={modelOf(row)} />
        {row.provider && <FilterButton dimension="provider" value={row.provider} />}
      </td>
      <td class="wide dim">{row.dialect ? humanize(row.dialect) : ABSENT}</td>
      <td>
        <OutcomeMark outcome={row.outcome} open={row.open ?? false} />
      </td>
      <td class="number strong">{columnDuration(row.ttfv_ms)}</td>
      <td class="number wide">{columnDuration(row.server?.ttft_ms)}</td>
      <td class="number mid">{columnDuration(row.e2e_ms)}</td>
      <td class="number wide">{columnDuration(row.longest_gap_ms)}</td>
      <td class="number wide">{count(row.chunks)}</td>
      <td class="number mid">{count(row.output_tokens)}</td>
      <td class="wide defects" title={defects || undefined}>
        {defects || <span class="dim">none</span>}
      </td>
    </tr>
  );
}

function FilterButton({ dimension, value }: { dimension: "model" | "provider"; value: string }) {
  const narrow = (event: Event) => {
    event.stopPropagation();
    setFilter(dimension, value);
  };
  return (
    <button type="button" class={`narrow ${dimension}`} onClick={narrow} title={`Filter by ${dimension} ${value}`}>
      {value}
    </button>
  );
}

function defectsOf({ defects }: StreamReport): string {
  return Object.entries(defects ?? {})
    .filter(([, n]) => isKnown(n) && n > 0)
    .map(([name, n]) => humanize(name) + (n > 1 ? ` ×${n}` : ""))
    .join(", ");
}

/** Lists of streams: which ones, and in which columns. */
import type { SampleKind, Summary } from "../api/api-types";
import { loadOlder } from "../polling/feed";
import { nextCursor, rows, setSample, view } from "../state";
import { SegmentedControl } from "../ui/segmented-control";
import { SAMPLES } from "../url";
import { ColumnMenu } from "./column-menu";
import { StreamTable } from "./stream-table";

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
          <ColumnMenu />
        </div>
      </div>
      {description && <p class="caption about">{description} Kept for long-term reference.</p>}
      {rows.value.length === 0 ? (
        <p class="nothing">No matching streams in this time range.</p>
      ) : (
        <StreamTable today={summary.to} />
      )}
      {nextCursor.value !== null && (
        <button type="button" class="more" onClick={() => void loadOlder()}>
          {list === "slowest" ? "Load more streams" : "Load older streams"}
        </button>
      )}
    </section>
  );
}

/** Heading and cell of each column of the stream list. */
import type { ComponentChildren } from "preact";

import type { StreamReport } from "../api/api-types";
import { isAttribute } from "../api/attributes";
import { GLOSSARY, type Term } from "../api/glossary";
import { METRIC_LABELS } from "../api/metrics";
import {
  COUNT_VALUES,
  DIMENSION_VALUES,
  dimensionValue,
  METRIC_VALUES,
  type ReportedCount,
  type ReportedDimension,
  type ReportedMetric,
  type StreamColumn,
} from "../api/stream-columns";
import { ABSENT, bytes, columnDuration, count, dimensionLabel, heading, humanize, isKnown } from "../format";
import { OutcomeMark } from "../ui/outcome";
import { FilterButton } from "./filter-button";

export interface Column {
  id: StreamColumn;
  label: string;
  meaning: string | undefined;
  isNumber: boolean;
  cell: (report: StreamReport) => ComponentChildren;
}

const COUNT_TERMS: Partial<Record<ReportedCount, Term>> = { chunks: "chunk", output_tokens: "token" };

export function columnOf(id: StreamColumn): Column {
  if (id === "outcome") return { ...named(id), isNumber: false, cell: outcomeCell };
  if (id === "defects") return { ...named(id, "defect"), isNumber: false, cell: defectsCell };
  if (isAttribute(id) || isIn(DIMENSION_VALUES, id)) return dimensionColumn(id);
  return isIn(METRIC_VALUES, id) ? metricColumn(id) : countColumn(id);
}

function dimensionColumn(id: ReportedDimension): Column {
  const cell = (report: StreamReport) => {
    const value = dimensionValue(report, id);
    return value ? <FilterButton dimension={id} value={value} /> : <span class="dim">{ABSENT}</span>;
  };
  return { ...named(id), isNumber: false, cell };
}

function metricColumn(id: ReportedMetric): Column {
  const { short, meaning } = METRIC_LABELS[id];
  const label = id === "inter_chunk_latency" ? "Max inter-chunk" : short;
  return { id, label, meaning, isNumber: true, cell: (report) => columnDuration(METRIC_VALUES[id](report)) };
}

function countColumn(id: ReportedCount): Column {
  const text = id === "bytes" ? bytes : count;
  return { ...named(id, COUNT_TERMS[id]), isNumber: true, cell: (report) => text(COUNT_VALUES[id](report)) };
}

/** Some names are terms of the glossary. */
function named(id: StreamColumn, term = isAttribute(id) ? "attribute" : humanize(id)) {
  return { id, label: heading(dimensionLabel(id)), meaning: (GLOSSARY as Record<string, string>)[term] };
}

function outcomeCell({ outcome, open }: StreamReport) {
  if (open) return <OutcomeMark outcome={outcome} open />;
  return (
    <FilterButton dimension="outcome" value={outcome}>
      <OutcomeMark outcome={outcome} />
    </FilterButton>
  );
}

function defectsCell({ defects }: StreamReport) {
  const found = Object.entries(defects ?? {}).filter(([, n]) => isKnown(n) && n > 0);
  if (found.length === 0) return <span class="dim">none</span>;
  return found.map(([name, n]) => (
    <FilterButton key={name} dimension="defect" value={name}>
      {humanize(name) + (n > 1 ? ` ×${n}` : "")}
    </FilterButton>
  ));
}

function isIn<Table extends object>(table: Table, name: PropertyKey): name is keyof Table {
  return name in table;
}

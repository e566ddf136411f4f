/** Table of streams in the chosen columns. A row opens the detail of its stream. */
import type { ComponentChildren } from "preact";

import type { StreamReport } from "../api/api-types";
import { DEFAULT_COLUMNS, modelOf, type StreamColumn } from "../api/stream-columns";
import { dateTime } from "../format";
import { openStream, rows, view } from "../state";
import { columnOf, type Column } from "../stream/columns";
import { FilterButton } from "../stream/filter-button";
import { TableHead } from "../ui/table-head";

export function StreamTable({ today }: { today: number }) {
  const chosen = view.value.columns;
  const shown = chosen ?? DEFAULT_COLUMNS;
  const columns = shown.map(columnOf);
  const classOf = ({ id, isNumber }: Column) =>
    [isNumber ? "number" : "", CLASSES[id] ?? "", chosen ? "" : (DEFAULT_VISIBILITY[id] ?? "")].join(" ").trim();
  const headOf = (column: Column) => [column.label, classOf(column), column.meaning] as const;
  return (
    // Narrow screens hide some of the default columns. Those that a user has chosen are scrolled.
    <div class={chosen ? "chosen-columns" : undefined}>
      <table class="stream-table">
        <TableHead columns={[["Time"], ...columns.map(headOf)]} />
        <tbody>
          {rows.value.map((row) => (
            <Row key={row.id} row={row} today={today}>
              {columns.map((column) => (
                <td key={column.id} class={classOf(column)}>
                  {column.cell(row)}
                  {column.id === "model" && !shown.includes("provider") && row.provider && (
                    <FilterButton dimension="provider" value={row.provider} />
                  )}
                </td>
              ))}
            </Row>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const CLASSES: Partial<Record<StreamColumn, string>> = { model: "model-cell", ttfv: "strong", defects: "defects" };

/** Width of the screen that shows a default column. */
const DEFAULT_VISIBILITY: Partial<Record<StreamColumn, "mid" | "wide">> = {
  dialect: "wide",
  server_ttft: "wide",
  e2e: "mid",
  inter_chunk_latency: "wide",
  chunks: "wide",
  output_tokens: "mid",
  defects: "wide",
};

interface RowProps {
  row: StreamReport;
  today: number;
  children: ComponentChildren;
}

function Row({ row, today, children }: RowProps) {
  const open = () => openStream(row.id);
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
      {children}
    </tr>
  );
}

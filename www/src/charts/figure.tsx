/** A chart with its title, its caption and a table view for screen readers. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import type { AsyncResult } from "../api/async-result";
import { TableHead } from "../ui/table-head";
import { Term } from "../ui/term";

export interface Table {
  columns: string[];
  rows: () => string[][];
}

export interface FigureProps {
  chart: "ttft" | "phases" | "speed" | "throughput" | "in-flight" | "histogram" | "compare" | "abandonment" | "engines" | "engine-caches";
  title: string;
  /** Definition of what the chart shows. */
  meaning?: string;
  caption?: string;
  aside?: ComponentChildren;
  table?: Table;
  children?: ComponentChildren;
}

export function Figure({ chart, title, meaning, caption, aside, table, children }: FigureProps) {
  const heading = `${chart}-title`;
  return (
    <figure class="figure" data-chart={chart} aria-labelledby={heading}>
      <div class="figure-head">
        <h2 id={heading}>{meaning ? <Term meaning={meaning}>{title}</Term> : title}</h2>
        {aside}
      </div>
      {children}
      <figcaption>
        {caption && <p>{caption}</p>}
        {table && <TableView table={table} title={title} />}
      </figcaption>
    </figure>
  );
}

interface LoadedProps<Answer> {
  chart: FigureProps["chart"];
  title: string;
  result: AsyncResult<Answer>;
  children: (answer: Answer) => ComponentChildren;
}

/** The figures of an answer, or why they are missing. */
export function Loaded<Answer>({ chart, title, result, children }: LoadedProps<Answer>) {
  if (result.kind === "known") return <>{children(result.value)}</>;
  return (
    <Figure chart={chart} title={title}>
      <Answered result={result}>{children}</Answered>
    </Figure>
  );
}

/** What an answer shows, or why it is missing. */
export function Answered<Answer>({ result, children }: Pick<LoadedProps<Answer>, "result" | "children">) {
  if (result.kind === "known") return <>{children(result.value)}</>;
  return <p class="nothing">{result.kind === "loading" ? "Loading…" : `Could not load. ${result.message}`}</p>;
}

/** Builds the rows only while the table is open, because the screen refreshes every few seconds. */
function TableView({ table, title }: { table: Table; title: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>View as table</summary>
      {isOpen && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`${title}, as a table`}>
          <table class="plain">
            <TableHead columns={table.columns.map((column) => [column])} />
            <tbody>
              {table.rows().map((cells, index) => (
                <tr key={index}>
                  {cells.map((cell, at) =>
                    at === 0 ? (
                      <th key={at} scope="row">
                        {cell}
                      </th>
                    ) : (
                      <td key={at}>{cell}</td>
                    ),
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

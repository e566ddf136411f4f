/** A drawing, what it says in one sentence, and the same as a table: a figure for eyes and ears. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface Table {
  columns: string[];
  rows: () => string[][];
}

interface FigureProps {
  chart: "ttft" | "histogram" | "compare" | "abandonment";
  title: string;
  caption?: string;
  aside?: ComponentChildren;
  table?: Table;
  children: ComponentChildren;
}

export function Figure({ chart, title, caption, aside, table, children }: FigureProps) {
  const heading = `${chart}-title`;
  return (
    <figure class="figure" data-chart={chart} aria-labelledby={heading}>
      <div class="figure-head">
        <h2 id={heading}>{title}</h2>
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

/** Stands where a figure's answer did not come. */
export function LoadError({ what }: { what: string }) {
  return <p class="nothing">Not known. {what}</p>;
}

/** Rows are made only while they are looked at: the screen refreshes every few seconds. */
function TableView({ table, title }: { table: Table; title: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>View as table</summary>
      {isOpen && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`${title}, as a table`}>
          <table class="plain">
            <thead>
              <tr>
                {table.columns.map((column) => (
                  <th key={column} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
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

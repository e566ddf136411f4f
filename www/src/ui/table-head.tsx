/** The head of a table. Terms open their definition. */
import { Term } from "./term";

/** Text, classes and definition of a column. */
export type Column = readonly [label: string, classes?: string, meaning?: string];

export function TableHead({ columns }: { columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map(([label, classes, meaning]) => (
          <th key={label} scope="col" class={classes}>
            {meaning ? <Term meaning={meaning}>{label}</Term> : label}
          </th>
        ))}
      </tr>
    </thead>
  );
}

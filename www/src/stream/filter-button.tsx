/** The value of one stream in a dimension, as a button that filters by it. */
import type { ComponentChildren } from "preact";

import type { Dimension } from "../api/api-types";
import { dimensionLabel, valueLabel } from "../format";
import { setFilter } from "../state";

interface FilterButtonProps {
  dimension: Dimension;
  value: string;
  /** What it shows instead of the value. */
  children?: ComponentChildren;
}

export function FilterButton({ dimension, value, children }: FilterButtonProps) {
  const filter = (event: Event) => {
    // A click on the row around it would open the stream.
    event.stopPropagation();
    setFilter(dimension, value);
  };
  const label = valueLabel(dimension, value);
  return (
    <button type="button" class="narrow" onClick={filter} title={`Filter by ${dimensionLabel(dimension)} ${label}`}>
      {children ?? label}
    </button>
  );
}

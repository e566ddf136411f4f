/** The value of one stream in a dimension, as a button that filters by it. */
import type { Dimension } from "../api/api-types";
import { dimensionLabel, valueLabel } from "../format";
import { setFilter } from "../state";

export function FilterButton({ dimension, value }: { dimension: Dimension; value: string }) {
  const filter = (event: Event) => {
    // A click on the row around it would open the stream.
    event.stopPropagation();
    setFilter(dimension, value);
  };
  const label = valueLabel(dimension, value);
  return (
    <button type="button" class="narrow" onClick={filter} title={`Filter by ${dimensionLabel(dimension)} ${label}`}>
      {label}
    </button>
  );
}

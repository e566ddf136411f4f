/** Field that selects a dimension. The attributes of the sites in view are a group of their own. */
import type { ComponentChildren } from "preact";

import { offeredAttributes } from "../../api/attributes";
import { DIMENSIONS, type Dimension } from "../../api/dimensions";
import { dimensionLabel } from "../../format";
import { dashboardData } from "../../state";

interface DimensionSelectProps {
  label: string;
  value: string;
  onChoose: (dimension: Dimension) => void;
  /** Options before the dimensions. */
  children?: ComponentChildren;
}

export function DimensionSelect({ label, value, onChoose, children }: DimensionSelectProps) {
  const attributes = offeredAttributes(dashboardData.value?.summary.attributes ?? [], [value]);
  return (
    <label class="select">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value as Dimension)}>
        {children}
        {DIMENSIONS.map(option)}
        {attributes.length > 0 && <optgroup label="Attributes of the app">{attributes.map(option)}</optgroup>}
      </select>
    </label>
  );
}

function option(dimension: Dimension) {
  return (
    <option key={dimension} value={dimension}>
      {dimensionLabel(dimension)}
    </option>
  );
}

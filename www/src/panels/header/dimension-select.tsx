/** Field that selects a dimension. The attributes of the sites in view are a group of their own. */
import { offeredAttributes } from "../../api/attributes";
import { DIMENSIONS, type Dimension } from "../../api/dimensions";
import { dimensionLabel } from "../../format";
import { dashboardData } from "../../state";

interface DimensionSelectProps {
  label: string;
  value: Dimension;
  onChoose: (dimension: Dimension) => void;
}

export function DimensionSelect({ label, value, onChoose }: DimensionSelectProps) {
  const attributes = offeredAttributes(dashboardData.value?.summary.attributes ?? [], [value]);
  return (
    <label class="select">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value as Dimension)}>
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

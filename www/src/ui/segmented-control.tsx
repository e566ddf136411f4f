/** A row of radio buttons for a few named values. */
import { useLayoutEffect, useRef } from "preact/hooks";

interface SegmentedControlProps<Value extends string> {
  legend: string;
  name: string;
  options: readonly { value: Value; label: string; title?: string }[];
  chosen: Value;
  onChoose: (value: Value) => void;
}

export function SegmentedControl<Value extends string>({
  legend,
  name,
  options,
  chosen,
  onChoose,
}: SegmentedControlProps<Value>) {
  const row = useRef<HTMLFieldSetElement>(null);
  useLayoutEffect(() => {
    if (row.current) scrollIntoRow(row.current);
  }, [chosen]);
  return (
    <fieldset class="segmented" ref={row}>
      <legend class="unseen">{legend}</legend>
      {options.map(({ value, label, title }) => (
        <label key={value} title={title}>
          <input
            type="radio"
            name={name}
            value={value}
            checked={value === chosen}
            onChange={() => onChoose(value)}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Scrolls only the row, sideways: `scrollIntoView` would also scroll the page. */
function scrollIntoRow(row: HTMLElement): void {
  const chosen = row.querySelector("input:checked")?.closest("label")?.getBoundingClientRect();
  if (!chosen) return;
  const { left, right } = row.getBoundingClientRect();
  if (chosen.left < left) row.scrollLeft -= left - chosen.left;
  else if (chosen.right > right) row.scrollLeft += chosen.right - right;
}

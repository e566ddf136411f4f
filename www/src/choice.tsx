/** A few named values in, a row of radio buttons out. */
interface ChoiceProps<Value extends string> {
  legend: string;
  name: string;
  options: readonly { value: Value; label: string; title?: string }[];
  chosen: Value;
  onChoose: (value: Value) => void;
}

export function Choice<Value extends string>({
  legend,
  name,
  options,
  chosen,
  onChoose,
}: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
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

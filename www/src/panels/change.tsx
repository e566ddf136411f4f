/** A difference with its interval. */
import type { Difference } from "../api/schemas";
import { differenceText, isBetter } from "./release-text";

export interface ChangeProps {
  difference: Difference | null | undefined;
  format: (value: number) => string;
  higherIsBetter: boolean;
}

export function Change({ difference, format, higherIsBetter }: ChangeProps) {
  const text = differenceText(difference, format);
  if (text === null) return <span class="dim">none shown</span>;
  return <span class={isBetter(difference, higherIsBetter) ? "" : "bad"}>{text}</span>;
}

/** The collector's judgement in, one sentence with a sign and a word for its level out. */
import type { VerdictLevel, Summary } from "../api/api-types";
import { BooksNote } from "./ingest-accounting";
import { Icon, type IconName } from "../ui/icon";

const LEVELS: Record<VerdictLevel, { glyph: IconName; word: string }> = {
  good: { glyph: "good", word: "Within targets" },
  warn: { glyph: "warn", word: "Worth a look" },
  bad: { glyph: "bad", word: "Target missed" },
  none: { glyph: "none", word: "No verdict" },
};

/** A line must not break between the two. */
const FIGURE_AND_UNIT = /(\d) (ms|s|%|min|h)(?=\W|$)/g;

export function Verdict({ summary }: { summary: Summary }) {
  const { level, text } = summary.verdict;
  const { glyph, word } = LEVELS[level] ?? LEVELS.none;
  return (
    <section class={`verdict ${level}`} aria-label="Verdict" data-verdict={level}>
      <p class="verdict-level">
        <Icon name={glyph} />
        {word}
      </p>
      <p class="verdict-text">{text.replace(FIGURE_AND_UNIT, "$1\u00a0$2")}</p>
      <Overflow summary={summary} />
      <BooksNote />
    </section>
  );
}

/** A bounded label set has thrown values together: the figures stay right, their names do not. */
function Overflow({ summary }: { summary: Summary }) {
  const parts = Object.entries(summary.overflow ?? {}).filter(([, held]) => held > 0);
  if (parts.length === 0) return null;
  const list = parts.map(([dimension, held]) => `${held} by ${dimension.replace("_", " ")}`).join(", ");
  return (
    <p class="note">
      <Icon name="warn" /> Some streams are counted under “other”, because more names arrived than are kept:{" "}
      {list}.
    </p>
  );
}

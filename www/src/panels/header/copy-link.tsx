/** Button that copies a link to the screen with fixed times, which shows the same whenever it is opened. */
import { useState } from "preact/hooks";

import { isFixed } from "../../api/range";
import { shownTimes, view } from "../../state";
import { Icon } from "../../ui/icon";
import { writeView } from "../../url";

const COPY = "Copy link";

export function CopyLink() {
  const [word, setWord] = useState(COPY);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(linkWithTimes());
      setWord("Copied");
    } catch {
      setWord("The browser blocks copying");
    }
  };
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => void copy()}
      onBlur={() => setWord(COPY)}
      title="Copy a link with the times on screen"
    >
      <Icon name="link" />
      <span class="tool-word" aria-live="polite">
        {word}
      </span>
    </button>
  );
}

function linkWithTimes(): string {
  const { range, ...rest } = view.peek();
  return new URL(writeView({ ...rest, range: isFixed(range) ? range : shownTimes() }), location.href).href;
}

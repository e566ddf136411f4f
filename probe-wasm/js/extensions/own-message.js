// Tells the user's own message, which the page shows as well, from the answer. The typed text stays in the page, and only
// until the answer has ended.

import { childrenOf, textsIn } from "./page-text.js";

/** What the user has typed, in the field of the last input. */
export class TypedText {
  #field;
  #selector;

  /** `selector` restricts it to certain fields. */
  constructor(selector) {
    this.#selector = selector;
  }

  note(event) {
    const [field] = event.composedPath();
    if (!this.#selector || field.closest?.(this.#selector)) this.#field = field;
  }

  /** Whether the event is in that field. */
  isIn(event) {
    return event.composedPath()[0] == this.#field;
  }

  text() {
    return String(this.#field?.value ?? this.#field?.textContent ?? "");
  }
}

/** The text nodes that a change brought in elements whose whole text is the `question`. */
export function ownTexts({ target, added }, question) {
  const asked = plain(question);
  if (!asked) return [];
  // The target may be a part of the page with all that was said before.
  return textsIn(plain(target.textContent) == asked ? [target] : added.filter((node) => isAllOf(node, asked)));
}

function isAllOf(node, asked) {
  const text = plain(textsIn([node]).reduce((before, { data }) => before + data, ""));
  if (text == asked) return true;
  // The message stands beside an avatar, a name or a time.
  return text.includes(asked) && [...childrenOf(node)].some((child) => isAllOf(child, asked));
}

/** Letters and digits: the page may show the text as Markdown, or break its lines in another way. */
function plain(text) {
  return text.replace(/[^\p{L}\p{N}]/gu, "") || text.trim();
}

/** What was typed or pasted as a token in, what can go into a header out. */

/** Printable ASCII without spaces, at least one: with anything else `fetch` throws before it asks. */
export function canBeSent(token: string): boolean {
  return /^[!-~]+$/.test(token);
}

/** What is wrong with it, as a sentence. `null` where the collector may be asked. */
export function flawOf(token: string): string | null {
  if (token === "") return "No token was typed.";
  if (canBeSent(token)) return null;
  const [odd = ""] = token.match(/[^!-~]/u) ?? [];
  const code = (odd.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `No token is like this: it has ${odd === " " ? "a space" : `the character U+${code}`} in it. Copy it once more.`;
}

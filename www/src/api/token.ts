/** What was typed or pasted as a token in, what can go into a header out. */

/** Printable ASCII without spaces, at least one: with anything else `fetch` throws before it asks. */
export function isValidToken(token: string): boolean {
  return /^[!-~]+$/.test(token);
}

/** What is wrong with it, as a sentence. `null` where the collector may be asked. */
export function tokenError(token: string): string | null {
  if (token === "") return "No token was typed.";
  if (isValidToken(token)) return null;
  const [invalid = ""] = token.match(/[^!-~]/u) ?? [];
  const code = (invalid.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `No token is like this: it has ${invalid === " " ? "a space" : `the character U+${code}`} in it. Copy it once more.`;
}

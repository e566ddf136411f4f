/** Validation of an access token before it goes into a header. */

/** Printable ASCII without spaces. `fetch` throws on other characters. */
export function isValidToken(token: string): boolean {
  return /^[!-~]+$/.test(token);
}

/** The reason why the token is invalid, as a sentence; `null` if it is valid. */
export function tokenError(token: string): string | null {
  if (token === "") return "No token was typed.";
  if (isValidToken(token)) return null;
  const [invalid = ""] = token.match(/[^!-~]/u) ?? [];
  const code = (invalid.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `No token is like this: it has ${invalid === " " ? "a space" : `the character U+${code}`} in it. Copy it once more.`;
}

/** Validation of a typed access token. A wrong one counts against the limit of its network. */

/** Printable ASCII without spaces, as in the configuration. */
function isValidToken(token: string): boolean {
  return /^[!-~]+$/.test(token);
}

/** The reason why the token is invalid, as a sentence; `null` if it is valid. */
export function tokenError(token: string): string | null {
  if (token === "") return "Enter a token.";
  if (isValidToken(token)) return null;
  const [invalid = ""] = token.match(/[^!-~]/u) ?? [];
  const code = (invalid.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `Invalid token: contains ${invalid === " " ? "a space" : `the character U+${code}`}. Copy it again.`;
}

import { afterEach, describe, expect, it, vi } from "vitest";

import { isValidToken, tokenError } from "../src/api/token";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The initial token of a page with this stored token. */
async function initialToken(stored: string | null): Promise<string | null> {
  vi.stubGlobal("location", { search: "", pathname: "/" });
  vi.stubGlobal("sessionStorage", { getItem: (key: string) => (key === "llm-rum-token" ? stored : null) });
  return (await import("../src/state")).token.value;
}

describe("a stored token", () => {
  it("is used from the start", async () => {
    expect(await initialToken("secret")).toBe("secret");
    vi.resetModules();
    expect(await initialToken(null)).toBeNull();
  });

  it("is ignored if a header cannot carry it", async () => {
    expect(await initialToken("s\u00a0ecret")).toBeNull();
  });
});

describe("a typed token", () => {
  it("is valid if a header can carry it", () => {
    expect(isValidToken("a-Z0_9.~+/=!")).toBe(true);
    expect(tokenError("a-Z0_9.~+/=!")).toBeNull();
  });

  it("is rejected with its invalid character", () => {
    expect(tokenError("tok“en")).toBe(
      "Invalid token: contains the character U+201C. Copy it again.",
    );
    expect(tokenError("tok\u200ben")).toContain("U+200B");
    expect(tokenError("tok😀en")).toContain("U+1F600");
    expect(tokenError("two words")).toContain("a space");
    expect(tokenError("")).toBe("Enter a token.");
  });
});

import { afterEach, describe, expect, it, vi } from "vitest";

import { isValidToken, tokenError } from "../src/api/token";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The token that a page begins with where the tab has kept this one. */
async function begunWith(kept: string | null): Promise<string | null> {
  vi.stubGlobal("location", { search: "", pathname: "/" });
  vi.stubGlobal("sessionStorage", { getItem: (key: string) => (key === "llm-rum-token" ? kept : null) });
  return (await import("../src/state")).token.value;
}

describe("a token that the tab has kept", () => {
  it("is there from the start", async () => {
    expect(await begunWith("secret")).toBe("secret");
    vi.resetModules();
    expect(await begunWith(null)).toBeNull();
  });

  it("counts as none where it cannot be sent", async () => {
    expect(await begunWith("s\u00a0ecret")).toBeNull();
  });
});

describe("a typed token", () => {
  it("is sent where a header can carry it", () => {
    expect(isValidToken("a-Z0_9.~+/=!")).toBe(true);
    expect(tokenError("a-Z0_9.~+/=!")).toBeNull();
  });

  it("is refused by the character that stands in the way", () => {
    expect(tokenError("tok“en")).toBe(
      "No token is like this: it has the character U+201C in it. Copy it once more.",
    );
    expect(tokenError("tok\u200ben")).toContain("U+200B");
    expect(tokenError("tok😀en")).toContain("U+1F600");
    expect(tokenError("two words")).toContain("a space");
    expect(tokenError("")).toBe("No token was typed.");
  });
});

import { afterEach, describe, expect, it, vi } from "vitest";

import { canBeSent, flawOf } from "../src/api/token";

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
    expect(canBeSent("a-Z0_9.~+/=!")).toBe(true);
    expect(flawOf("a-Z0_9.~+/=!")).toBeNull();
  });

  it("is refused by the character that stands in the way", () => {
    expect(flawOf("tok“en")).toBe(
      "No token is like this: it has the character U+201C in it. Copy it once more.",
    );
    expect(flawOf("tok\u200ben")).toContain("U+200B");
    expect(flawOf("tok😀en")).toContain("U+1F600");
    expect(flawOf("two words")).toContain("a space");
    expect(flawOf("")).toBe("No token was typed.");
  });
});

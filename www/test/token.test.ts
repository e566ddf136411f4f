import { describe, expect, it } from "vitest";

import { tokenError } from "../src/api/token";

describe("a typed token", () => {
  it("is valid if a configuration can hold it", () => {
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

/** What was asked of the collector beside the screen's own question, and has its own way of failing. */

export type Asked<Answer> =
  { kind: "loading" } | { kind: "failed"; what: string } | { kind: "known"; answer: Answer };

export const LOADING = { kind: "loading" } as const;

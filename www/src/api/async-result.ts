/** What was asked of the collector and has its own way of failing: it leaves the rest of the screen alone. */
import { whyNot } from "./client";

/** `what` says why there is no answer, as a sentence. */
export type Tried<Answer> = { kind: "failed"; what: string } | { kind: "known"; answer: Answer };

export type Asked<Answer> = { kind: "loading" } | Tried<Answer>;

export const LOADING = { kind: "loading" } as const;

export async function tried<Answer>(answer: Promise<Answer>): Promise<Tried<Answer>> {
  try {
    return { kind: "known", answer: await answer };
  } catch (error) {
    return { kind: "failed", what: whyNot(error) };
  }
}

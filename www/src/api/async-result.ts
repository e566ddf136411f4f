/** What was asked of the collector and has its own way of failing: it leaves the rest of the screen alone. */
import { errorMessage } from "./client";

/** `what` says why there is no answer, as a sentence. */
export type Result<Answer> = { kind: "failed"; message: string } | { kind: "known"; value: Answer };

export type AsyncResult<Answer> = { kind: "loading" } | Result<Answer>;

export const LOADING = { kind: "loading" } as const;

export async function toResult<Answer>(promise: Promise<Answer>): Promise<Result<Answer>> {
  try {
    return { kind: "known", value: await promise };
  } catch (error) {
    return { kind: "failed", message: errorMessage(error) };
  }
}

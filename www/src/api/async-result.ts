/** Result of a request that fails alone: the rest of the screen stays. */
import { errorMessage } from "./client";

/** `message` is the reason, as a sentence. */
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

// The interface of every API client: a question, an answer, and the function between them.
export interface Question {
  /** Where the API lives: this site, with the scenario in the path. */
  base: string;
  model: string;
  prompt: string;
  /** Aborts while no response has come yet. */
  signal: AbortSignal;
}

export interface Answer {
  texts: AsyncIterable<string>;
  /** Stops by the client library's own means. */
  stop(): void;
  /** Number of the stream in the server's log. */
  seq: string | null;
}

export type Ask = (question: Question) => Promise<Answer>;

/** Names the stream in the server's log. */
export const SEQ_HEADER = "x-demo-seq";

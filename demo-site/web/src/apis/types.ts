// The interface of every API client.
export interface Question {
  /** Base URL of the API: this site, with the scenario in the path. */
  base: string;
  model: string;
  prompt: string;
  /** Aborts the request before the response has begun. */
  signal: AbortSignal;
}

export interface LlmResponse {
  texts: AsyncIterable<string>;
  /** Stops the stream as the client library provides it. */
  stop(): void;
  /** Number of the stream in the server's log. `null`: the transport does not expose it. */
  seq: string | null;
}

export type Ask = (question: Question) => Promise<LlmResponse>;

/** The response header with the stream's number in the server's log. */
export const SEQ_HEADER = "x-demo-seq";

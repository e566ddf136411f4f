// The APIs and the ways over the network as an app would use them: a question comes in, the answer's texts go out.
import { anthropic } from "./apis/anthropic";
import { eventSource } from "./apis/event_source";
import { ollama } from "./apis/ollama";
import { openaiChat } from "./apis/openai_chat";
import { openaiResponses } from "./apis/openai_responses";
import { webSocket } from "./apis/web_socket";
import { xhr } from "./apis/xhr";

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

/** By the value in the page's list. */
export const apis: Record<string, Ask> = {
  openai_chat: openaiChat,
  openai_responses: openaiResponses,
  anthropic,
  ollama,
  event_source: eventSource,
  xhr,
  web_socket: webSocket,
};

/** Names the stream in the server's log. */
export const SEQ_HEADER = "x-demo-seq";

// The APIs and the ways over the network as an app would use them: a question comes in, the answer's texts go out.
import { anthropic } from "./apis/anthropic";
import { eventSource } from "./apis/event_source";
import { ollama } from "./apis/ollama";
import { openaiChat } from "./apis/openai_chat";
import { openaiResponses } from "./apis/openai_responses";
import type { Ask } from "./apis/types";
import { webSocket } from "./apis/web_socket";
import { xhr } from "./apis/xhr";

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

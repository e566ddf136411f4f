// All clients of the chat page, by API or transport. Each one uses the library that an app would use.
import { anthropic } from "./apis/anthropic";
import { eventSource } from "./apis/event_source";
import { ollama } from "./apis/ollama";
import { openaiChat } from "./apis/openai_chat";
import { openaiResponses } from "./apis/openai_responses";
import type { Ask } from "./apis/types";
import { webSocket } from "./apis/web_socket";
import { xhr } from "./apis/xhr";

/** Keys are the values of the page's API list. */
export const apis: Record<string, Ask> = {
  openai_chat: openaiChat,
  openai_responses: openaiResponses,
  anthropic,
  ollama,
  event_source: eventSource,
  xhr,
  web_socket: webSocket,
};

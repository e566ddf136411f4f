// All recipes in one script, for the pages of the tests.
import { angular } from "./angular.js";
import { anthropic } from "./anthropic.js";
import { assistantUi } from "./assistant-ui.js";
import { axiosFetch } from "./axios.js";
import { copilotKit } from "./copilotkit.js";
import { deepChat } from "./deep-chat.js";
import { plainEventSource } from "./event-source.js";
import { plainFetch } from "./fetch.js";
import { googleGenAi } from "./google-genai.js";
import { kyFetch } from "./ky.js";
import { langchain } from "./langchain.js";
import { langgraph } from "./langgraph.js";
import { ollama } from "./ollama.js";
import { openai } from "./openai.js";
import { sseJs } from "./sse-js.js";
import { svelteChat } from "./svelte-chat.js";
import { tanstackAi } from "./tanstack-ai.js";
import { reactUseChat } from "./use-chat.js";
import { reactUseCompletion } from "./use-completion.js";
import { vueChat } from "./vue-chat.js";

window.recipes = {
  angular,
  anthropic,
  assistantUi,
  axiosFetch,
  copilotKit,
  deepChat,
  googleGenAi,
  kyFetch,
  langchain,
  langgraph,
  ollama,
  openai,
  plainEventSource,
  plainFetch,
  reactUseChat,
  reactUseCompletion,
  sseJs,
  svelteChat,
  tanstackAi,
  vueChat,
};

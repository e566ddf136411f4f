// All recipes in one script, for the pages of the tests.
import { angular } from "./angular.js";
import { anthropic } from "./anthropic.js";
import { assistantUi } from "./assistant-ui.js";
import { deepChat } from "./deep-chat.js";
import { plainEventSource } from "./event-source.js";
import { plainFetch } from "./fetch.js";
import { langchain } from "./langchain.js";
import { langgraph } from "./langgraph.js";
import { ollama } from "./ollama.js";
import { openai } from "./openai.js";
import { sseJs } from "./sse-js.js";
import { svelteChat } from "./svelte-chat.js";
import { reactUseChat } from "./use-chat.js";
import { vueChat } from "./vue-chat.js";

window.recipes = {
  angular,
  anthropic,
  assistantUi,
  deepChat,
  langchain,
  langgraph,
  ollama,
  openai,
  plainEventSource,
  plainFetch,
  reactUseChat,
  sseJs,
  svelteChat,
  vueChat,
};

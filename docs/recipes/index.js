// All recipes in one script, for the pages of the tests.
import { anthropic } from "./anthropic.js";
import { plainEventSource } from "./event-source.js";
import { plainFetch } from "./fetch.js";
import { langchain } from "./langchain.js";
import { ollama } from "./ollama.js";
import { openai } from "./openai.js";
import { reactUseChat } from "./use-chat.js";

window.recipes = { anthropic, langchain, ollama, openai, plainEventSource, plainFetch, reactUseChat };

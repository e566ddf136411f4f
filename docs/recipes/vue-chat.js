// Vue with `Chat` of `@ai-sdk/vue`. `app` is where the app's own route lies, as for `useChat`.
import { Chat } from "@ai-sdk/vue";
import { DefaultChatTransport } from "ai";
import { computed, createApp, h, watch } from "vue";
import { answerText } from "./answer-text.js";

export async function vueChat(app, prompt, write) {
  const chat = new Chat({ transport: new DefaultChatTransport({ api: `${app}/api/chat` }) });
  const text = computed(() => answerText(chat.messages));
  watch(text, (now, before) => write(now.slice(before.length)), { flush: "sync" });
  const page = createApp({ render: () => h("p", { "data-llm-output": "" }, text.value) });
  page.mount(document.body.appendChild(document.createElement("div")));
  await chat.sendMessage({ text: prompt });
  page.unmount();
}

// Svelte with `Chat` of `@ai-sdk/svelte`. `app` is where the app's own route lies, as for `useChat`.
import { Chat } from "@ai-sdk/svelte";
import { DefaultChatTransport } from "ai";
import { flushSync, mount, unmount } from "svelte";
import Answer from "./Answer.svelte";

export async function svelteChat(app, prompt, write) {
  const chat = new Chat({ transport: new DefaultChatTransport({ api: `${app}/api/chat` }) });
  let seen = "";
  const onText = (text) => {
    write(text.slice(seen.length));
    seen = text;
  };
  const answer = mount(Answer, { target: document.body, props: { chat, onText } });
  await chat.sendMessage({ text: prompt });
  flushSync();
  await unmount(answer);
}

// React with `useChat` of `@ai-sdk/react`. `app` is where the app's own route lies, which answers with
// `toUIMessageStreamResponse()`.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { answerText } from "./answer-text.js";

function Chat({ api, prompt, onText, onDone }) {
  const { messages, sendMessage } = useChat({
    transport: new DefaultChatTransport({ api }),
    onFinish: onDone,
    onError: onDone,
  });
  useEffect(() => void sendMessage({ text: prompt }), []);
  const text = answerText(messages);
  useEffect(() => onText(text), [text]);
  return createElement("p", { "data-llm-output": "" }, text);
}

export async function reactUseChat(app, prompt, write) {
  const place = document.body.appendChild(document.createElement("div"));
  const root = createRoot(place);
  let seen = "";
  const onText = (text) => {
    write(text.slice(seen.length));
    seen = text;
  };
  await new Promise((onDone) => root.render(createElement(Chat, { api: `${app}/api/chat`, prompt, onText, onDone })));
  // What the last event has changed is rendered after it.
  await new Promise((rendered) => setTimeout(rendered));
  root.unmount();
}

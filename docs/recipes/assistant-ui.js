// assistant-ui with its runtime for the AI SDK's UI messages. `app` is where the app's own route lies, as for `useChat`.
import { AssistantRuntimeProvider } from "@assistant-ui/react";
import { useDataStreamRuntime } from "@assistant-ui/react-data-stream";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";

function Chat({ api, prompt, onDone }) {
  const runtime = useDataStreamRuntime({ api, onFinish: onDone, onError: onDone });
  useEffect(() => runtime.thread.append(prompt), []);
  return createElement(AssistantRuntimeProvider, { runtime });
}

export async function assistantUi(app, prompt, write) {
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  const answer = await new Promise((onDone) =>
    root.render(createElement(Chat, { api: `${app}/api/chat`, prompt, onDone })),
  );
  write(answer.content.filter(({ type }) => type === "text").map(({ text }) => text).join(""));
  root.unmount();
}

// React with `useCompletion` of `@ai-sdk/react`. `app` is where the app's own route lies, which answers with
// `toUIMessageStreamResponse()`.
import { useCompletion } from "@ai-sdk/react";
import { createElement, useEffect } from "react";
import { createRoot } from "react-dom/client";

function Completion({ api, prompt, onDone }) {
  const { completion, complete } = useCompletion({ api });
  useEffect(() => void complete(prompt).then((text) => onDone(text ?? "")), []);
  return createElement("p", { "data-llm-output": "" }, completion);
}

export async function reactUseCompletion(app, prompt, write) {
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  write(
    await new Promise((onDone) =>
      root.render(createElement(Completion, { api: `${app}/api/completion`, prompt, onDone })),
    ),
  );
  root.unmount();
}

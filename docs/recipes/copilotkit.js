// CopilotKit's core, which its packages for React, Angular and Vue are built on. `app` is where the app's own route lies,
// with CopilotKit's runtime.
import { CopilotKitCore } from "@copilotkit/core";

export async function copilotKit(app, prompt, write) {
  const copilot = new CopilotKitCore({ runtimeUrl: `${app}/api/copilotkit` });
  await new Promise((isConnected) =>
    copilot.subscribe({
      onRuntimeConnectionStatusChanged: ({ status }) => status === "connected" && isConnected(),
    }),
  );
  const agent = copilot.getAgent("default");
  agent.subscribe({ onTextMessageContentEvent: ({ event }) => write(event.delta) });
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: prompt });
  await copilot.runAgent({ agent });
}

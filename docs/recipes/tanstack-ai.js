// TanStack AI. `app` is where the app's own route lies, which answers with `toServerSentEventsResponse()`.
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";

export async function tanstackAi(app, prompt, write) {
  const client = new ChatClient({ connection: fetchServerSentEvents(`${app}/api/chat`) });
  await client.sendMessage(prompt);
  const answer = client.getMessages().at(-1);
  write(answer.parts.filter(({ type }) => type === "text").map(({ content }) => content).join(""));
}

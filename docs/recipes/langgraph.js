// `@langchain/langgraph-sdk` in its mode `messages-tuple`. `app` is where the server of LangGraph lies.
import { Client } from "@langchain/langgraph-sdk";

export async function langgraph(app, prompt, write) {
  const client = new Client({ apiUrl: app });
  const run = client.runs.stream(null, "agent", {
    input: { messages: [{ role: "user", content: prompt }] },
    streamMode: "messages-tuple",
  });
  for await (const { event, data } of run) {
    if (event === "messages" && typeof data[0].content === "string") write(data[0].content);
  }
}

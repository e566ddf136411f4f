// A chat over WebSocket: the request is one message, and each event of the response is another.
import type { LlmResponse, Question } from "./types";
import { Queue } from "./texts";

export async function webSocket({ base, model, prompt }: Question): Promise<LlmResponse> {
  const socket = new WebSocket(`${base.replace("http", "ws")}/socket`);
  const queue = new Queue();
  socket.onopen = () => socket.send(JSON.stringify({ model, messages: [{ role: "user", content: prompt }] }));
  socket.onmessage = ({ data }: MessageEvent<string>) => queue.put(data);
  socket.onclose = ({ wasClean }) => queue.end(wasClean ? undefined : new Error("the connection broke"));
  const stop = () => {
    socket.close();
    queue.end();
  };
  return { texts: queue.all(), stop, seq: null };
}

// A chat over WebSocket: the question is one text, each event of the answer another.
import type { Answer, Question } from "./types";
import { Queue } from "./texts";

export async function webSocket({ base, model, prompt }: Question): Promise<Answer> {
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

// A chat over XMLHttpRequest, whose text grows while it arrives.
import { type Answer, type Question, SEQ_HEADER } from "../apis";
import { Queue } from "./texts";

export function xhr({ base, model, prompt }: Question): Promise<Answer> {
  const request = new XMLHttpRequest();
  const queue = new Queue();
  let read = 0;
  const grown = () => {
    const events = request.responseText.slice(read).split("\n\n");
    read = request.responseText.length - (events.pop()?.length ?? 0);
    for (const line of events.flatMap((event) => event.split("\n")))
      if (line.startsWith("data: ")) queue.put(line.slice(6));
  };
  return new Promise((resolve, reject) => {
    request.addEventListener("readystatechange", () => {
      if (request.readyState !== XMLHttpRequest.HEADERS_RECEIVED || request.status >= 400) return;
      resolve({ texts: queue.all(), stop: () => request.abort(), seq: request.getResponseHeader(SEQ_HEADER) });
    });
    request.addEventListener("progress", grown);
    request.addEventListener("load", () => {
      if (request.status >= 400) return reject(new Error(`${request.status} ${request.responseText}`));
      grown();
      queue.end();
    });
    request.addEventListener("abort", () => queue.end());
    request.addEventListener("error", () => {
      const error = new Error("the connection broke");
      queue.end(error);
      reject(error);
    });
    request.open("POST", `${base}/v1/chat/completions`);
    request.setRequestHeader("content-type", "application/json");
    request.send(JSON.stringify({ model, messages: [{ role: "user", content: prompt }], stream: true }));
  });
}

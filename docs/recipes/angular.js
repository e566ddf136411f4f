// Angular's `HttpClient` with progress events. Its text is the whole response so far, each time.
import "@angular/compiler";
import { HttpClient, HttpEventType, provideHttpClient, withFetch } from "@angular/common/http";
import { Component, inject, provideZonelessChangeDetection, signal } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";

class Chat {
  http = inject(HttpClient);
  text = signal("");

  async ask(base, prompt) {
    const body = { model: "demo-model", messages: [{ role: "user", content: prompt }], stream: true };
    const options = { observe: "events", reportProgress: true, responseType: "text" };
    const events = this.http.post(`${base}/v1/chat/completions`, body, options);
    await events.forEach((event) => {
      if (event.type === HttpEventType.DownloadProgress) this.text.set(textOf(event.partialText));
    });
  }
}
// The decorator `@Component` as a function call, which needs no build step of Angular's.
Component({ selector: "app-chat", template: `<p data-llm-output>{{ text() }}</p>` })(Chat);

function textOf(response) {
  // The last line may be incomplete, even if it is the only one.
  const lines = response.split("\n").slice(0, -1);
  const events = lines.filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));
  return events.map(({ choices }) => choices[0]?.delta?.content ?? "").join("");
}

export async function angular(base, prompt, write) {
  document.body.append(document.createElement("app-chat"));
  const page = await bootstrapApplication(Chat, {
    providers: [provideZonelessChangeDetection(), provideHttpClient(withFetch())],
  });
  const chat = page.components[0].instance;
  await chat.ask(base, prompt);
  write(chat.text());
  page.destroy();
}

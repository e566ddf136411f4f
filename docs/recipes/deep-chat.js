// The element `deep-chat` with a server of the format of OpenAI.
import "deep-chat";

export async function deepChat(base, prompt, write) {
  const chat = document.createElement("deep-chat");
  chat.connect = { url: `${base}/v1/chat/completions`, stream: true };
  chat.requestInterceptor = ({ body, ...request }) => {
    const messages = body.messages.map(({ role, text }) => ({ role: role === "ai" ? "assistant" : role, content: text }));
    return { ...request, body: { model: "demo-model", messages, stream: true } };
  };
  chat.responseInterceptor = ({ choices }) => ({ text: choices?.[0]?.delta?.content ?? "" });
  const isRendered = new Promise((resolve) => (chat.onComponentRender = resolve));
  document.body.append(chat);
  await isRendered;
  const answer = await new Promise((resolve, reject) => {
    chat.onMessage = ({ message }) => message.role === "ai" && resolve(message.text);
    chat.onError = reject;
    chat.submitUserMessage({ text: prompt });
  });
  write(answer);
  chat.remove();
}

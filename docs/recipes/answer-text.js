/** The text of the answers in messages of the AI SDK. */
export function answerText(messages) {
  const parts = messages.filter(({ role }) => role === "assistant").flatMap(({ parts }) => parts);
  return parts.filter(({ type }) => type === "text").map(({ text }) => text).join("");
}

// OpenAI Responses through the `openai` package.
import { type LlmResponse, type Question, SEQ_HEADER } from "./types";
import { client } from "./openai_chat";

export async function openaiResponses({ base, model, prompt, signal }: Question): Promise<LlmResponse> {
  const { data: stream, response } = await client(base)
    .responses.create({ model, input: prompt, stream: true }, { signal })
    .withResponse();
  async function* texts() {
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") yield event.delta;
      // The package does not turn these events into errors.
      if (event.type === "error") throw new Error(event.message);
      if (event.type === "response.failed") throw new Error(event.response.error?.message);
    }
  }
  return { texts: texts(), stop: () => stream.controller.abort(), seq: response.headers.get(SEQ_HEADER) };
}

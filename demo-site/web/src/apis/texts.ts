// Reads OpenAI's chat events without its package, for transports other than fetch.

interface Chunk {
  choices?: { delta?: { content?: string } }[];
  error?: { message: string };
}

/** Marks the end of a response. */
export const END_MARKER = "[DONE]";

/** The text of one event. Empty for an event without text. */
export function textOf(data: string): string {
  const { choices, error } = JSON.parse(data) as Chunk;
  if (error) throw new Error(error.message);
  return choices?.[0]?.delta?.content ?? "";
}

/** Turns the calls of listeners into an iterable of texts. */
export class Queue {
  private texts: string[] = [];
  private ended: { error?: unknown } | undefined;
  private wake = () => {};

  put(data: string): void {
    try {
      if (data === END_MARKER) this.end();
      else this.texts.push(textOf(data));
    } catch (error) {
      this.end(error);
    }
    this.wake();
  }

  end(error?: unknown): void {
    this.ended ??= { error };
    this.wake();
  }

  async *all(): AsyncGenerator<string> {
    for (;;) {
      yield* this.texts.splice(0).filter(Boolean);
      if (this.texts.length) continue;
      if (this.ended?.error) throw this.ended.error;
      if (this.ended) return;
      await new Promise<void>((wake) => (this.wake = wake));
    }
  }
}

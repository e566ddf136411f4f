// OpenAI's events without its package: one event's data comes in, its text goes out.

interface Chunk {
  choices?: { delta?: { content?: string } }[];
  error?: { message: string };
}

/** The end of an answer. */
export const END_MARKER = "[DONE]";

/** The text of one event, which may be none. */
export function textOf(data: string): string {
  const { choices, error } = JSON.parse(data) as Chunk;
  if (error) throw new Error(error.message);
  return choices?.[0]?.delta?.content ?? "";
}

/** What listeners are told, for a loop to take. */
export class Queue {
  private texts: string[] = [];
  private over: { error?: unknown } | undefined;
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
    this.over ??= { error };
    this.wake();
  }

  async *all(): AsyncGenerator<string> {
    for (;;) {
      yield* this.texts.splice(0).filter(Boolean);
      if (this.texts.length) continue;
      if (this.over?.error) throw this.over.error;
      if (this.over) return;
      await new Promise<void>((wake) => (this.wake = wake));
    }
  }
}

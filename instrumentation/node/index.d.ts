// Types of `llm-rum-server`, which writes the server's time into streams of server-sent events. They need no others:
// Workers have no types of Node.

/** Values that only the app knows. Others are measured. */
export interface Marks {
  /** Milliseconds that the request waited in a queue before the model began. */
  queue_ms?: number;
  /** Tokens that the model generated. Known at the end; the last comment takes it. */
  output_tokens?: number;
  /**
   * Tokens of `output_tokens` that the model generated after the client had left. Only the collector gets it. Mark it
   * once, also after the response is over.
   */
  tokens_after_gone?: number;
}

/**
 * Wraps a handler that returns a web `Response`, as in Next.js, Hono, SvelteKit, Remix and Workers. If a browser asks
 * and the response is a stream of server-sent events, its body gets comments with the server's time. Any other
 * response is returned as it is. The first argument is a `Request`, or an object with it as `request` or `req.raw`.
 */
export function withLlmRum<Handler extends (...args: any[]) => unknown>(handler: Handler): Handler;

/**
 * Sends the collector a timing of the layer `app` for each stream: how it ended, and its times. Without a call, the
 * variables `LLM_RUM_COLLECTOR`, `LLM_RUM_TOKEN` and `LLM_RUM_SITE` say where; without those nothing is sent. In the
 * background: at most 1,000 timings wait, and the app never waits for them. A Worker calls it with its own settings,
 * and its handler gets the context with `waitUntil` as usual.
 */
export function sendTimingsTo(
  target: { collector: string; token?: string; site?: string } | undefined,
): void;

/** Middleware for Express, and for everything else that calls `(request, response, next)`. */
export function expressMiddleware(): (request: any, response: any, next: (error?: any) => void) => void;

/** A plugin for Fastify: `app.register(fastifyPlugin)`. It serves all routes. */
export function fastifyPlugin(app: any, options: unknown, done: () => void): void;

/**
 * Adds values to the next comment of a stream. Without `request` it is the stream of the request that is being
 * handled, by `AsyncLocalStorage`. A runtime without it needs `request`: what the handler or middleware was called
 * with. Values that are negative or no numbers are ignored, and so is a call for a stream without comments.
 */
export function mark(values: Marks, request?: object): void;

// Reports failed requests of LLM clients that do not say in advance that they ask for a stream. Without it, a refusal of
// such a request has nothing that tells it from any other.

import { FIRST_TOKEN } from "../session/progress-flags.js";
import { STREAMS } from "../tap/content-types.js";
import { FORGET, HEADERS } from "../tap/tap-events.js";
import { requestTests } from "./request-tests.js";

/** Routes that are remembered. */
const MAX_ROUTES = 20;
/** The part of a path that names one thing, and no kind of things. */
const NAMES_ONE = /\/[^/]*(\d[^/]*){3}(?=\/|$)/g;
const FAILED = /^(http_error|network_error|timeout)$/;

/** Calls that stream only if they say so, and collections of an app's own API. */
const WHOLE = /\/(completions|responses|messages|embeddings|moderations|images|audio|history|chats|generations)\b|:(?!stream)\w+$/;
const ASKS = /^(user|human|tool|function|system|developer)$/;
const ANSWERS = /^(assistant|ai|model)$/;
const CHAT_ID = /^((chat|thread|session|conversation|run|assistant)_?)?id$/i;

/** Reports such a request if it is refused, fails or times out. If it succeeds, it is measured as without this. */
export const failures = () => (core) => {
  const routes = new Set();
  const suspects = new WeakSet();
  const inspect = (stream, input, init) => {
    const url = urlOf(input);
    const isSuspect = routes.has(routeOf(stream, url)) || looksLikeChat(stream, url, init);
    if (isSuspect) suspects.add(stream);
    return isSuspect;
  };
  requestTests.set(core.probe, inspect);

  return {
    inspect,
    onEvent(stream, event, response) {
      if (event == HEADERS) {
        stream.route = routeOf(stream, response.url);
        if (STREAMS.test(response.headers.get("content-type"))) suspects.delete(stream);
        else if (suspects.has(stream) && response.status < 400) core.emit(stream, FORGET);
      }
      if (stream.seen & FIRST_TOKEN && stream.route) {
        if (routes.size < MAX_ROUTES) routes.add(stream.route);
        stream.route = undefined;
      }
    },
    addFields(report, stream) {
      // A report without an id stays here.
      if (suspects.has(stream) && !FAILED.test(report.outcome)) delete report.id;
    },
  };
};

/** The page would notice that the address of an object of its own is asked for twice. */
function urlOf(input) {
  if (typeof input == "string") return input;
  if (input instanceof URL || input instanceof Request) return input.href ?? input.url;
}

/** Method and path, without what names one thing, such as a thread. */
function routeOf({ method = "GET" }, url) {
  if (url === undefined) return;
  try {
    const { origin, pathname } = new URL(url, location.href);
    return `${method.toUpperCase()} ${origin}${pathname.replace(NAMES_ONE, "/:id")}`;
  } catch {}
}

function looksLikeChat({ method }, url, init) {
  const body = init?.body;
  if (url === undefined || !/^post$/i.test(method) || typeof body != "string" || !body.startsWith("{")) return false;
  try {
    const { pathname } = new URL(url, location.href);
    return !WHOLE.test(pathname) && asksModel(JSON.parse(body), pathname);
  } catch {
    return false;
  }
}

/** Whether an object has the shape of a question to a model. */
function asksModel(body, pathname) {
  const { messages, contents, prompt, input, model, stream, streaming, response_mode, stream_mode, trigger } = body;
  if (stream === false || streaming === false) return false;
  if (streaming === true || response_mode == "streaming" || stream_mode) return true;
  const named = typeof model == "string" || Object.keys(body).some((key) => CHAT_ID.test(key));
  const isOnly = Object.keys(body).length == 1;
  return (
    awaitsAnswer(messages, trigger) ||
    awaitsAnswer(contents) ||
    awaitsAnswer(input?.messages) ||
    (named && awaitsAnswer(input)) ||
    (typeof prompt == "string" && (named || isOnly)) ||
    (input !== undefined && pathname.endsWith("/stream"))
  );
}

/** Whether a list is a conversation that a model is to go on with. One that is stored ends with its answer. */
function awaitsAnswer(messages, trigger) {
  const last = Array.isArray(messages) && messages.at(-1);
  if (!last || !(last.parts || "content" in last)) return false;
  const role = last.role ?? last.type ?? (last.parts && "user");
  return ASKS.test(role) || (!!trigger && ANSWERS.test(role));
}

// Watches answers over WebSocket, and over the long polling of Engine.IO. A text that the app sends asks for an answer,
// and so does a request that names the id of the socket. Each open answer gets every message of its socket: the watcher
// knows which are its own. `docs/sockets.md` has the rules.

import { watchGestures } from "../page/gestures.js";
import { END_MARKER, FIRST_TOKEN } from "../session/progress-flags.js";
import { STREAMS } from "../tap/content-types.js";
import { ASKS } from "../tap/request-patterns.js";
import { ASKED, CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ } from "../tap/tap-events.js";
import { listen, watchClass } from "./class-patch.js";
import { MAYBE, QUESTION, STOP, meaningOf } from "./socket-questions.js";
import { createTaskCoalescer } from "./task-coalescer.js";

/** What follows an end marker, such as a count of tokens, belongs to the stream for this long. */
const AFTER_END_MS = 500;
/** An answer whose text came is over when nothing has come for this long, and the app asks again. */
const PAUSE_MS = 2000;
/** The same, without another question. */
const SILENCE_MS = 60_000;
/** A question without text is over when nothing has come for this long, and the user asks again. */
const PATIENCE_MS = 10_000;

/** How much all sockets together may buffer until the probe can read; each event counts as 512. */
const BUFFER_LENGTH = 500_000;
/** Of a question this much is looked at, at each end. */
const EDGE_CHARS = 8192;
/** Messages that are kept while a request may ask for them, and how long each may be. */
const MAX_KEPT = 100;
const MAX_KEPT_CHARS = 5000;

const ENGINE_IO = /[?&]EIO=\d/;
const POLLING = /[?&]transport=polling/;
/** The id of a socket in a handshake of Engine.IO or socket.io. */
const SOCKET_ID = /(?:^|\x1e)(?:0|40[^{]*)\{"sid":"([^"]+)"/g;
const MAX_SOCKET_IDS = 8;

/**
 * Watches the sockets whose address `isStream` accepts. `asks` accepts the sent texts that ask for a stream (default:
 * by their form), and `ends` the texts that end one. `optionsOf` returns the options of the stream that a text of an
 * address asks for.
 */
export const webSocket = ({ isStream, asks, ends = () => false, optionsOf }) => (core) => {
  const app = { asks, ends, optionsOf, space: BUFFER_LENGTH, watching: new WeakMap(), gestureBefore: () => {}, sockets: 0 };
  /** Connections of Engine.IO by host and path: one goes on over another transport. */
  const connections = new Map();
  const undos = [
    watchClass(
      core,
      "WebSocket",
      ["send", "close"],
      (socket) => accepts(socket.url) && watchSocket(core, socket, connectionOf(socket.url)),
    ),
    watchClass(
      core,
      "XMLHttpRequest",
      ["open", "send"],
      (request) => watchPolling(core, request, (url) => accepts(url) && connectionOf(url)),
      "polling",
    ),
  ];
  if (typeof window != "undefined" && window.addEventListener)
    app.gestureBefore = watchGestures((target, type, listener) => {
      target.addEventListener(type, listener, true);
      undos.push(() => target.removeEventListener(type, listener, true));
    });
  return {
    stop() {
      app.space = 0;
      undos.splice(0).forEach((undo) => undo());
    },
    onRequest(stream, input, init) {
      const body = init?.body;
      if (typeof body != "string" || !ASKS.test(body)) return;
      const named = [...connections.values()].find((connection) => connection.isNamedBy(body));
      named?.onRequest(stream, body);
    },
    onEvent: (stream, event, value) => app.watching.get(stream)?.(event, value),
  };

  function accepts(url) {
    return core.attempt(() => isStream(url));
  }

  function connectionOf(url) {
    if (!ENGINE_IO.test(url)) return connect(core, url, false, app);
    const { host, pathname } = new URL(url);
    const known = connections.get(host + pathname) ?? connect(core, url, true, app);
    connections.set(host + pathname, known);
    return known;
  }
};

function watchSocket(core, socket, connection) {
  listen(core, socket, "message", ({ data }) => typeof data == "string" && connection.onMessage(data));
  listen(core, socket, "error", () => connection.endAll(FAILED));
  listen(core, socket, "close", ({ wasClean }) => connection.endAll(wasClean ? CLOSED : FAILED));
  return {
    send: ([data]) => socket.readyState == socket.OPEN && typeof data == "string" && connection.onSend(data),
    close: () => connection.endAll(CANCELLED),
  };
}

/** A request of Engine.IO: its body has packets of the app, and its response has packets of the server. */
function watchPolling(core, request, connectionOf) {
  let connection;
  listen(core, request, "load", () => {
    if (connection && /^(text)?$/.test(request.responseType)) connection.onMessage(request.responseText);
  });
  return {
    open([, url]) {
      // The page would notice that the address of an object of its own is asked for twice.
      const address = url instanceof URL ? url.href : url;
      const isPolling = typeof address == "string" && ENGINE_IO.test(address) && POLLING.test(address);
      const absolute = isPolling && absoluteOf(address);
      connection = absolute && connectionOf(absolute);
    },
    send([body]) {
      if (connection && typeof body == "string") for (const packet of body.split("\x1e")) connection.onSend(packet);
    },
  };
}

/** Nothing if the browser refuses the address as well. */
function absoluteOf(address) {
  try {
    return new URL(address, location.href).href;
  } catch {}
}

/** The answers over one socket, the oldest first. */
function connect(core, url, engineIo, app) {
  const { emit, guard, attempt } = core;
  const number = ++app.sockets;
  const answers = new Set();
  const ids = [];
  let timer, askedAt;
  /** When the latest answer ended: then it was the turn of the next question. */
  let freeAt = 0;
  /** Messages since a request that may ask for them, while there is one. */
  let kept;
  /** Jobs of the time before the probe can read: only the content of earlier streams shows whose they are. */
  let pending;

  const task = createTaskCoalescer((text, time) => inTurn(() => chunk(text, time), text.length));
  return { onMessage, onSend, onRequest, endAll, isNamedBy: (text) => ids.some((id) => text.includes(id)) };

  function onMessage(text) {
    if (engineIo) ids.unshift(...Array.from(text.matchAll(SOCKET_ID), ([, id]) => id));
    ids.length = Math.min(ids.length, MAX_SOCKET_IDS);
    const part = `data: ${text.replace(/\r\n?|\n/g, "\ndata: ")}\n\n`;
    if (kept?.length < MAX_KEPT && part.length <= MAX_KEPT_CHARS) kept.push([part, performance.now()]);
    if (!answers.size) return;
    task.put(part, [...answers].every(({ stream }) => stream.seen & FIRST_TOKEN));
    if (attempt(() => app.ends(text))) {
      task.flush();
      inTurn(() => end(answers.values().next().value, CLOSED));
    }
  }

  function onSend(text) {
    const { asks } = app;
    const meaning = asks ? attempt(() => asks(text)) && QUESTION : meaningOf(text, engineIo);
    if (!meaning) return;
    const time = performance.now();
    task.flush();
    // A stream that was dropped takes no later one with it.
    for (const answer of answers) if (answer.stream.overflowed_) answers.delete(answer);
    if (!answers.size) pending = undefined;
    const gesture = app.gestureBefore(time);
    inTurn(() => (meaning == STOP ? endAllNow(CANCELLED, time) : ask(text, time, meaning == MAYBE, gesture)));
  }

  function ask(text, time, mayBe, gesture) {
    closeOver(time, true);
    // Where the app says which texts ask, no more comes of what it has asked before.
    if (app.asks) for (const answer of answers) end(answer, answer.lastAt ? CLOSED : CANCELLED, answer.lastAt ?? time);
    const isNewGesture = gesture !== undefined && !(gesture <= askedAt);
    if (!isNewGesture && (mayBe || answers.size)) return;
    giveUpUnanswered(time);
    open(text, time);
  }

  function open(text, time, { model, own_ } = {}) {
    askedAt = time;
    const stream = { time, url, model, own_: { ...own_, ...attempt(() => app.optionsOf?.(url, text)) } };
    const answer = { stream };
    answers.add(answer);
    app.watching.set(stream, (event) => onEvent(answer, event));
    pending = [];
    emit(stream, OPEN, undefined, time);
    const edges = text.length > 2 * EDGE_CHARS ? `${text.slice(0, EDGE_CHARS)}\n${text.slice(-EDGE_CHARS)}` : text;
    const question = new TextEncoder().encode(edges);
    emit(stream, ASKED, { number, engineIo, question, length: question.length }, time);
    emit(stream, READ, undefined, time);
  }

  /** A request that names this socket: if it is answered by JSON, the stream comes over the socket. */
  function onRequest(request, body) {
    kept ??= [];
    app.watching.set(request, (event, response) => {
      if (event == OPEN || event == READ || !kept) return;
      const messages = kept;
      kept = undefined;
      if (event != HEADERS || response.status >= 400 || STREAMS.test(response.headers.get("content-type"))) return;
      emit(request, FORGET);
      inTurn(() => {
        open(body, request.time, request);
        for (const [part, time] of messages) inTurn(() => chunk(part, time), part.length);
      });
    });
  }

  /** Runs the job at once, or in its turn when the first stream can be read. One that does not fit drops the stream. */
  function inTurn(job, length = 0) {
    if (!pending || !answers.size) return job();
    const [{ stream }] = answers;
    stream.overflowed_ ||= (app.space -= 512 + length) < 0;
    if (stream.overflowed_) pending.length = 0;
    else pending.push(job);
  }

  function chunk(text, time) {
    closeOver(time);
    const bytes = new TextEncoder().encode(text);
    for (const answer of answers) {
      answer.lastAt = time;
      emit(answer.stream, CHUNK, bytes, time);
    }
    checkLater();
  }

  function checkLater() {
    if (answers.size) timer ??= setTimeout(() => guard(check), AFTER_END_MS);
  }

  function onEvent(answer, event) {
    if (event == OPEN) {
      const jobs = pending ?? [];
      pending = undefined;
      for (const job of jobs) job();
    } else if (event == CHUNK) noteEnd(answer);
  }

  function noteEnd(answer) {
    answer.overAt = answer.stream.seen & END_MARKER ? (answer.overAt ?? answer.lastAt) : undefined;
  }

  /** Ends the answers of which nothing more is expected: if the user asks again, a short pause is enough for that. */
  function closeOver(time, isAskedAgain) {
    for (const answer of answers) {
      const { overAt, lastAt, stream } = answer;
      const isOver = isAskedAgain ? overAt >= 0 : time - overAt > AFTER_END_MS;
      const isSilent = stream.seen & FIRST_TOKEN && time - lastAt > (isAskedAgain ? PAUSE_MS : SILENCE_MS);
      if (isOver || isSilent) end(answer, CLOSED);
    }
  }

  /** Ends the questions that the server has passed over: it answers in order, so later text would be taken for theirs. */
  function giveUpUnanswered(time) {
    for (const answer of answers) {
      const { lastAt = 0, stream } = answer;
      const isSilent = time - Math.max(stream.time, lastAt) > PATIENCE_MS;
      const isPassedOver = time - Math.max(stream.time, freeAt) > SILENCE_MS;
      if (stream.seen & FIRST_TOKEN || !(isSilent || isPassedOver)) return;
      end(answer, CANCELLED, time);
    }
  }

  /** The full watcher may have read an end in hindsight, which no event shows. */
  function check() {
    timer = undefined;
    task.flush();
    for (const answer of answers) noteEnd(answer);
    closeOver(performance.now());
    checkLater();
  }

  function endAll(event) {
    const time = performance.now();
    task.flush();
    inTurn(() => endAllNow(event, time));
  }

  function endAllNow(event, time) {
    for (const answer of answers) answer.overAt === undefined ? end(answer, event, time) : end(answer, CLOSED);
  }

  function end(answer, event, time = answer?.lastAt) {
    if (event == CLOSED) freeAt = time;
    if (answers.delete(answer)) emit(answer.stream, event, undefined, time);
  }
}

// Streams over one socket, before the probe can read and after: each is a stream of its own.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CANCELLED, CHUNK, CLOSED, OPEN } from "../../js/tap/tap-events.js";
import { bufferInto } from "../../js/tap/early-buffer.js";
import { END_MARKER } from "../../js/session/progress-flags.js";
import { webSocket } from "../../js/extensions/web-socket.js";

class Socket extends EventTarget {
  static OPEN = 1;
  OPEN = 1;
  readyState = 1;
  url = "wss://chat.example/socket";
  send() {}
  close() {}
}

const { MessageChannel } = globalThis;

/** Jobs after the task. */
const posted = [];
const afterTask = () => posted.splice(0).forEach((port) => port.onmessage());

/** A real channel keeps Node running. */
class Channel {
  port1 = {};
  port2 = {
    postMessage: () => {
      posted.push(this.port1);
      queueMicrotask(afterTask);
    },
  };
}

/** A page with one socket, a clock on which each time is a task of its own, and a probe that `load` brings. */
function page(t, options) {
  const self = { WebSocket: Socket };
  Object.assign(globalThis, { self, MessageChannel: Channel });
  t.after(() => Object.assign(globalThis, { self: undefined, MessageChannel }));
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const clock = t.mock.method(performance, "now", () => 0);
  const buffered = [];
  const told = [];
  let emit = bufferInto(buffered);
  const call = (job) => job();
  const core = { emit: (...event) => emit(...event), guard: call, attempt: call };
  const extension = webSocket({ isStream: () => true, ...options })(core);
  const socket = new self.WebSocket();
  const streams = [];

  /** Sets the progress of the stream, as the probe does. */
  function take(stream, moment, value, time) {
    const text = value && new TextDecoder().decode(value);
    if (text?.includes("[DONE]")) stream.seen |= END_MARKER;
    if (moment == OPEN) streams.push(stream);
    told.push([streams.indexOf(stream), moment, text?.trim(), time]);
    extension.onEvent(stream, moment);
  }

  return {
    told,
    stop: extension.stop,
    lost: () => buffered.filter(([stream, moment]) => stream.overflowed_ && moment == OPEN).length,
    at(time) {
      afterTask();
      clock.mock.mockImplementation(() => time);
    },
    ask: (text = "a question") => socket.send(text),
    say: (data) => socket.dispatchEvent(Object.assign(new Event("message"), { data })),
    load() {
      emit = take;
      for (const [stream, ...moment] of buffered.splice(0)) if (!stream.overflowed_) take(stream, ...moment);
    },
    toldOf: (moment) => told.filter(([, what]) => what == moment),
  };
}

/** Two streams: the app asks for the second as soon as the first has ended. */
function twoAnswers({ at, ask, say }) {
  at(10);
  ask();
  at(20);
  say("one");
  at(30);
  say("[DONE]");
  ask();
  at(40);
  say("two");
  at(50);
  say("[DONE]");
}

const CHUNKS = [
  [0, CHUNK, "data: one", 20],
  [0, CHUNK, "data: [DONE]", 30],
  [1, CHUNK, "data: two", 40],
  [1, CHUNK, "data: [DONE]", 50],
];

for (const when of ["before", "after"])
  test(`streams ${when} the load of the probe have separate times`, (t) => {
    const chat = page(t);
    if (when == "after") chat.load();
    twoAnswers(chat);
    if (when == "before") chat.load();
    assert.deepEqual(chat.toldOf(CHUNK), CHUNKS);
    assert.deepEqual(chat.toldOf(OPEN), [
      [0, OPEN, undefined, 10],
      [1, OPEN, undefined, 30],
    ]);
    assert.deepEqual(chat.toldOf(CLOSED), [[0, CLOSED, undefined, 30]]);
  });

test("messages 0.5 s after an end marker are outside the stream", (t) => {
  const chat = page(t);
  twoAnswers(chat);
  chat.at(400);
  chat.say("usage");
  chat.at(901);
  chat.say("news");
  chat.load();
  assert.deepEqual(chat.toldOf(CHUNK), [...CHUNKS, [1, CHUNK, "data: usage", 400]]);
  assert.deepEqual(chat.toldOf(CLOSED).at(-1), [1, CLOSED, undefined, 400]);
});

test("a stream that overflows the early buffer is fully dropped", (t) => {
  const chat = page(t);
  chat.ask();
  for (let said = 0; said < 500; said++) chat.say("x".repeat(1000));
  assert.equal(chat.lost(), 1);
  chat.load();
  assert.deepEqual(chat.told, []);
});

for (const when of ["before", "after"])
  test(`an overflow spares streams ${when} the load of the probe`, (t) => {
    const chat = page(t);
    chat.ask();
    for (let said = 0; said < 500; said++) chat.say("x".repeat(1000));
    if (when == "after") chat.load();
    twoAnswers(chat);
    assert.deepEqual(chat.toldOf(CHUNK), when == "after" ? CHUNKS : []);
    // Before that there is no space, but each stream is counted.
    if (when == "before") assert.equal(chat.lost(), 3);
  });

/** The app stops a stream after some text or before any, and asks again. No other text that it sends asks. */
function askAgain({ at, ask, say }, answered) {
  at(10);
  ask();
  at(20);
  if (answered) say("one");
  at(30);
  ask("stop");
  at(3000);
  ask();
  at(3400);
  say("two");
}

for (const [answered, end] of [[true, [0, CLOSED, undefined, 20]], [false, [0, CANCELLED, undefined, 3000]]])
  for (const when of ["before", "after"])
    test(`a new request ends the last: ${when}, answered ${answered}`, (t) => {
      const chat = page(t, { asks: (text) => text == "a question" });
      if (when == "after") chat.load();
      askAgain(chat, answered);
      chat.at(3500);
      chat.say("[DONE]");
      if (when == "before") chat.load();
      assert.deepEqual(chat.told.filter(([, moment]) => moment == CLOSED || moment == CANCELLED), [end]);
      assert.deepEqual(chat.toldOf(OPEN), [
        [0, OPEN, undefined, 10],
        [1, OPEN, undefined, 3000],
      ]);
      assert.deepEqual(chat.toldOf(CHUNK).filter(([stream]) => stream == 1), [
        [1, CHUNK, "data: two", 3400],
        [1, CHUNK, "data: [DONE]", 3500],
      ]);
    });

test("a stream without messages has no text of the one before", (t) => {
  const chat = page(t, { asks: () => true });
  chat.load();
  twoAnswers(chat);
  for (const time of [3000, 4000]) {
    chat.at(time);
    chat.ask();
  }
  assert.deepEqual(chat.told.at(-3), [2, CANCELLED, undefined, 4000]);
});

test("without `asks`, a send during a stream starts no new stream", (t) => {
  const chat = page(t);
  chat.load();
  askAgain(chat, true);
  assert.equal(chat.toldOf(OPEN).length, 1);
});

test("a socket keeps no stream after the observation stops", (t) => {
  const chat = page(t);
  chat.ask();
  chat.stop();
  chat.say("one");
  chat.ask();
  assert.equal(chat.lost(), 1);
});

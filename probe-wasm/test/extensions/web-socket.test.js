// Streams over one socket, before the probe can read and after: each is a stream of its own.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ASKED, CANCELLED, CHUNK, CLOSED, FORGET, HEADERS, OPEN, READ } from "../../js/tap/tap-events.js";
import { bufferInto } from "../../js/tap/early-buffer.js";
import { END_MARKER, FIRST_TOKEN } from "../../js/session/progress-flags.js";
import { webSocket } from "../../js/extensions/web-socket.js";

class Socket extends EventTarget {
  static OPEN = 1;
  OPEN = 1;
  readyState = 1;
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
function page(t, options, url = "wss://chat.example/socket", XMLHttpRequest) {
  class Addressed extends Socket {
    url = url;
  }
  const self = { WebSocket: Addressed, XMLHttpRequest };
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
    const text = moment == CHUNK ? new TextDecoder().decode(value) : undefined;
    if (text?.includes("[DONE]")) stream.seen |= END_MARKER;
    if (text?.includes("[TEXT]")) stream.seen |= FIRST_TOKEN;
    if (moment == OPEN) streams.push(stream);
    told.push([streams.indexOf(stream), moment, text?.trim(), time]);
    extension.onEvent(stream, moment);
  }

  return {
    told,
    extension,
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
  assert.deepEqual(chat.told.at(-4), [2, CANCELLED, undefined, 4000]);
});

test("without `asks`, a send during a stream starts no new stream", (t) => {
  const chat = page(t);
  chat.load();
  chat.ask();
  chat.say("one");
  chat.ask("another question");
  assert.equal(chat.toldOf(OPEN).length, 1);
});

test("a question after a pause starts a new stream", (t) => {
  const chat = page(t);
  chat.load();
  chat.at(10);
  chat.ask();
  chat.at(20);
  chat.say("one [TEXT]");
  chat.at(3000);
  chat.ask();
  assert.deepEqual(chat.toldOf(CLOSED), [[0, CLOSED, undefined, 20]]);
  assert.equal(chat.toldOf(OPEN).length, 2);
});

/** Texts that apps send, with the moments that each brings after a first question. */
const SENT = {
  '{"type":"ping"}': [],
  '{"type":"presence","user":"Ann Lee"}': [],
  '{"type":"session.update","session":{"instructions":"You are kind."}}': [],
  '{"type":"response.cancel"}': [CANCELLED],
  stop: [CANCELLED],
};
for (const [text, moments] of Object.entries(SENT))
  test(`what an app sends beside questions: ${text.slice(0, 30)}`, (t) => {
    const chat = page(t);
    chat.load();
    chat.ask(text);
    assert.deepEqual(chat.told, []);
    chat.ask('{"prompt":"moon"}');
    chat.told.length = 0;
    chat.ask(text);
    assert.deepEqual(chat.told.map(([, moment]) => moment), moments);
  });

test("over socket.io, packets with words are questions", (t) => {
  const chat = page(t, {}, "wss://chat.example/socket.io/?EIO=4&transport=websocket");
  chat.load();
  for (const text of ["2probe", "5", "3", '40{"token":"a b"}', '42["connection_successful"]', '4312["a b"]'])
    chat.ask(text);
  assert.deepEqual(chat.told, []);
  chat.ask('42/chat,7["client_message",{"message":{"output":"moon"}}]');
  assert.deepEqual(chat.told.map(([, moment]) => moment), [OPEN, ASKED, READ]);
});

test("a request that names a socket is answered there", (t) => {
  const chat = page(t, {}, "wss://chat.example/socket.io/?EIO=4&transport=websocket");
  chat.load();
  chat.say('40{"sid":"tAwQRI2WAp9SLGw2AAAB"}');
  const body = '{"stream":true,"session_id":"tAwQRI2WAp9SLGw2AAAB"}';
  const response = (status, type) => ({ status, headers: new Headers({ "content-type": type }) });
  for (const [status, type, isAnswered] of [
    [200, "application/json", true],
    [500, "application/json", false],
    [200, "text/event-stream", false],
  ]) {
    chat.told.length = 0;
    const request = { time: 5, model: "m-1" };
    chat.extension.onRequest(request, "/api/chat", { body });
    chat.at(10);
    chat.say('42["events",{"early":1}]');
    chat.at(20);
    chat.extension.onEvent(request, HEADERS, response(status, type));
    const moments = chat.told.map(([, moment, text, time]) => [moment, text, time]);
    const early = 'data: 42["events",{"early":1}]';
    assert.deepEqual(
      moments.filter(([moment]) => [FORGET, OPEN, CHUNK].includes(moment)),
      isAnswered ? [[FORGET, undefined, undefined], [OPEN, undefined, 5], [CHUNK, early, 10]] : [],
    );
    chat.ask('42["stop"]');
  }
  chat.told.length = 0;
  chat.extension.onRequest({ time: 5 }, "/api/chat", { body: '{"stream":true,"session_id":"another"}' });
  chat.say('42["events",{"early":1}]');
  assert.deepEqual(chat.toldOf(FORGET), []);
});

test("a request hands its own options to the stream on a socket", (t) => {
  const optionsOf = () => ({ variant: "b" });
  const chat = page(t, { optionsOf }, "wss://chat.example/socket.io/?EIO=4&transport=websocket");
  chat.load();
  chat.say('40{"sid":"tAwQRI2WAp9SLGw2AAAB"}');
  const opened = [];
  const { onEvent } = chat.extension;
  chat.extension.onEvent = (stream, event, value) => {
    if (event == OPEN) opened.push(stream.own_);
    onEvent(stream, event, value);
  };
  const request = { time: 5, own_: { useCase: "chat", variant: "a" } };
  chat.extension.onRequest(request, "/api/chat", { body: '{"stream":true,"session_id":"tAwQRI2WAp9SLGw2AAAB"}' });
  const response = { status: 200, headers: new Headers({ "content-type": "application/json" }) };
  chat.extension.onEvent(request, HEADERS, response);
  assert.deepEqual(opened, [{ useCase: "chat", variant: "b" }]);
});

/** A request of long polling. */
class Request extends EventTarget {
  responseType = "";
  open() {}
  send() {}
  answer(responseText) {
    this.dispatchEvent(Object.assign(new Event("load"), Object.assign(this, { responseText })));
  }
}

test("packets over long polling are those of one connection", (t) => {
  globalThis.location = { href: "https://chat.example/" };
  t.after(() => delete globalThis.location);
  const chat = page(t, {}, undefined, Request);
  chat.load();
  const poll = (url, sent, answered) => {
    const request = new self.XMLHttpRequest();
    request.open("GET", url);
    request.send(sent);
    request.answer(answered);
  };
  const url = "/socket.io/?EIO=4&transport=polling";
  poll("http://[", undefined, "");
  poll("http://[?EIO=4&transport=polling", undefined, "");
  poll("/api?transport=polling", '42["ask",{"text":"moon"}]', "ok");
  assert.deepEqual(chat.told, []);
  poll(url, '3\x1e42["ask",{"text":"moon"}]', "ok");
  assert.equal(chat.toldOf(OPEN).length, 1);
  poll(`${url}&sid=a`, undefined, '2\x1e42["token","The"]');
  assert.deepEqual(chat.toldOf(CHUNK).map(([, , text]) => text), ["data: ok", 'data: 2\x1e42["token","The"]']);
});

/** Clicks at a time of the user's choice. */
function clicking(t) {
  const listeners = [];
  globalThis.window = { addEventListener: (type, listener) => type == "click" && listeners.push(listener) };
  t.after(() => delete globalThis.window);
  return (timeStamp) => listeners.forEach((listener) => listener({ timeStamp }));
}

test("another click during a stream asks once more", (t) => {
  const click = clicking(t);
  const chat = page(t);
  chat.load();
  chat.at(100);
  click(90);
  chat.ask();
  chat.ask("the rest of it");
  assert.equal(chat.toldOf(OPEN).length, 1);
  chat.at(300);
  click(290);
  chat.ask();
  assert.equal(chat.toldOf(OPEN).length, 2);
  // Both streams get each message.
  chat.say("one");
  assert.deepEqual(chat.toldOf(CHUNK).map(([stream]) => stream), [0, 1]);
});

/** What comes after a first question at 100 ms, when the user asks again, and whether the first question ends then. */
const UNANSWERED = [
  ["nothing", [], 10_000, false],
  ["nothing", [], 10_200, true],
  ["a status", [[9_000, "searching"]], 15_000, false],
  ["a status", [[9_000, "searching"]], 19_100, true],
  ["pings", Array.from({ length: 12 }, (_, number) => [5_000 * (number + 1), "ping"]), 60_200, true],
  ["text", [[9_000, "one [TEXT]"], [59_000, "two"]], 60_200, false],
];
for (const [what, messages, again, ends] of UNANSWERED)
  for (const when of ["before", "after"])
    test(`asked again at ${again}, ${what}: ${when}`, (t) => {
      const click = clicking(t);
      const chat = page(t);
      if (when == "after") chat.load();
      for (const [time, text] of [[100], ...messages, [again]]) {
        chat.at(time);
        if (text) chat.say(text);
        else {
          click(time);
          chat.ask();
        }
      }
      if (when == "before") chat.load();
      assert.deepEqual(chat.toldOf(CANCELLED), ends ? [[0, CANCELLED, undefined, again]] : []);
      assert.equal(chat.toldOf(OPEN).length, 2);
    });

test("a question's turn begins with the end of the answer before", (t) => {
  const click = clicking(t);
  const chat = page(t);
  chat.load();
  const askAt = (time) => {
    chat.at(time);
    click(time);
    chat.ask();
  };
  // The first stream has all text.
  const { onEvent } = chat.extension;
  chat.extension.onEvent = (stream, ...event) => {
    if (stream.time == 1_000) stream.seen = 0;
    onEvent(stream, ...event);
  };
  askAt(100);
  askAt(1_000);
  for (let time = 1_000; time < 80_000; time += 1_000) {
    chat.at(time);
    chat.say("one [TEXT]");
  }
  chat.at(80_000);
  chat.say("[DONE]");
  askAt(86_000);
  assert.deepEqual(chat.toldOf(CLOSED), [[0, CLOSED, undefined, 80_000]]);
  assert.deepEqual(chat.toldOf(CANCELLED), []);
  askAt(95_000);
  assert.deepEqual(chat.toldOf(CANCELLED), [[1, CANCELLED, undefined, 95_000]]);
});

test("a socket keeps no stream after the observation stops", (t) => {
  const chat = page(t);
  chat.ask();
  chat.stop();
  chat.say("one");
  chat.ask();
  assert.equal(chat.lost(), 1);
});

test("the app gives options to the stream of each question", (t) => {
  const opened = [];
  const optionsOf = (url, sent) => ({ useCase: JSON.parse(sent).mode, variant: new URL(url).pathname.slice(1) });
  const chat = page(t, { optionsOf, asks: (sent) => sent.startsWith("{") });
  chat.load();
  const { onEvent } = chat.extension;
  chat.extension.onEvent = (stream, event, value) => {
    if (event == OPEN) opened.push(stream.own_);
    onEvent(stream, event, value);
  };
  chat.ask('{"mode":"chat"}');
  chat.at(5);
  chat.ask('{"mode":"coding"}');
  assert.deepEqual(opened, [
    { useCase: "chat", variant: "socket" },
    { useCase: "coding", variant: "socket" },
  ]);
});

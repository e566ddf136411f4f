// WebSocket: the object, its errors, and its events with a server that echoes each message.

import { check } from "../tools.js";

/** An HTTP address of the suite's server, which refuses WebSockets. */
const NO_SOCKET = `ws://${location.host}/log/socket`;
/** The echo server. */
const ECHO = `ws://${location.host}/socket/echo`;

async function opened(protocols = []) {
  const socket = new WebSocket(ECHO, protocols);
  socket.binaryType = "arraybuffer";
  await once(socket, "open");
  return socket;
}

const once = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
const closed = ({ code, reason, wasClean }) => `close ${code} ${reason} ${wasClean}`;

export default [
  check("WebSocket keeps its name, length and constants", ["WebSocket", 1, [0, 1, 2, 3], "function"], () => [
    WebSocket.name,
    WebSocket.length,
    ["CONNECTING", "OPEN", "CLOSING", "CLOSED"].map((name) => WebSocket[name]),
    typeof WebSocket,
  ]),
  check("a WebSocket has only native properties", [true, true, true, "[object WebSocket]", []], () => {
    const socket = new WebSocket(NO_SOCKET);
    socket.close();
    const { prototype } = WebSocket;
    return [socket instanceof WebSocket, socket.constructor == WebSocket, Object.getPrototypeOf(socket) == prototype, `${socket}`, Object.keys(socket)];
  }),
  check("a class can extend WebSocket", [true, 2], () => {
    class Chat extends WebSocket {}
    const chat = new Chat(NO_SOCKET);
    chat.close();
    return [chat instanceof Chat, chat.readyState];
  }),
  check("wrong calls of a WebSocket throw the native errors", ["throws TypeError", "throws SyntaxError", "throws InvalidStateError", "throws TypeError"], async (t) => {
    const socket = new WebSocket(NO_SOCKET);
    const outcomes = [
      await t.outcome(() => WebSocket(NO_SOCKET)),
      await t.outcome(() => new WebSocket("http://[")),
      await t.outcome(() => socket.send("too early")),
      await t.outcome(() => new WebSocket()),
    ];
    socket.close();
    return outcomes;
  }),
  check("a refused connection fires error, then close", ["error", "close 1006 false", 3], async () => {
    const socket = new WebSocket(NO_SOCKET);
    const seen = [];
    socket.onerror = () => seen.push("error");
    await new Promise((resolve) => {
      socket.onclose = ({ code, wasClean }) => resolve(seen.push(`close ${code} ${wasClean}`));
    });
    return [...seen, socket.readyState];
  }),
  check("text and binary messages return unchanged and in order", ["a", "3 bytes", "", "ü\n"], async () => {
    const socket = await opened();
    const seen = [];
    const all = new Promise((resolve) => {
      socket.onmessage = ({ data }) => seen.push(data.byteLength ? `${data.byteLength} bytes` : data) == 4 && resolve();
    });
    for (const data of ["a", new Uint8Array(3), "", "ü\n"]) socket.send(data);
    await all;
    socket.close();
    return seen;
  }),
  check("a message event is a native, trusted event of its socket", ["message", true, true, true, "", "MessageEvent"], async () => {
    const socket = await opened();
    socket.send("a");
    const event = await once(socket, "message");
    socket.close();
    return [event.type, event.isTrusted, event.target == socket, event.origin == ECHO.slice(0, ECHO.indexOf("/socket")), event.lastEventId, event.constructor.name];
  }),
  check("listeners run in the order in which they were added", ["first", "handler", "object", "last"], async () => {
    const socket = await opened();
    const seen = [];
    socket.addEventListener("message", () => seen.push("first"));
    socket.onmessage = () => seen.push("never: it is replaced");
    socket.addEventListener("message", { handleEvent: () => seen.push("object") });
    socket.onmessage = () => seen.push("handler");
    const gone = () => seen.push("never: it is removed");
    socket.addEventListener("message", gone);
    socket.removeEventListener("message", gone);
    socket.send("a");
    await once(socket, "message");
    socket.close();
    return [...seen, "last"];
  }),
  check("stopImmediatePropagation() stops the listeners after it", ["first"], async () => {
    const socket = await opened();
    const seen = [];
    socket.addEventListener("message", (event) => {
      seen.push("first");
      event.stopImmediatePropagation();
    });
    socket.addEventListener("message", () => seen.push("second"));
    socket.send("a");
    socket.send("close 1000 enough");
    await once(socket, "close");
    return seen;
  }),
  check("a throwing listener is reported and does not stop others", ["Error: broken", "second", "a"], async () => {
    const socket = await opened();
    const seen = [];
    window.addEventListener("error", (event) => {
      seen.push(`${event.error}`);
      event.preventDefault();
    });
    socket.addEventListener("message", () => {
      throw new Error("broken");
    });
    socket.addEventListener("message", () => seen.push("second"));
    socket.send("a");
    const { data } = await once(socket, "message");
    socket.close();
    return [...seen, data];
  }),
  check("a close by the server delivers its code and reason", ["close 4001 that was all true", 3], async () => {
    const socket = await opened();
    socket.send("close 4001 that was all");
    return [closed(await once(socket, "close")), socket.readyState];
  }),
  check("a close by the app delivers its code and reason", ["returns", 2, "close 3001 enough true", "returns"], async (t) => {
    const socket = await opened();
    const outcome = await t.outcome(() => socket.close(3001, "enough"));
    const { readyState } = socket;
    const end = closed(await once(socket, "close"));
    return [outcome, readyState, end, await t.outcome(() => socket.send("too late"))];
  }),
  check("a dropped connection fires close with code 1006", ["close 1006  false"], async () => {
    const socket = await opened();
    socket.send("drop");
    return [closed(await once(socket, "close"))];
  }),
  check("protocol is the one that client and server agreed on", ["chat", "", ""], async () => {
    const socket = await opened(["chat", "talk"]);
    socket.close();
    return [socket.protocol, socket.extensions, (await opened()).protocol];
  }),
  check("send() returns undefined and leaves bufferedAmount at 0", ["returns", true, 0], async (t) => {
    const socket = await opened();
    const outcome = await t.outcome(() => socket.send("a"));
    const nothing = socket.send("b") === undefined;
    for (const type of ["message", "message"]) await once(socket, type);
    socket.close();
    return [outcome, nothing, socket.bufferedAmount];
  }),
];

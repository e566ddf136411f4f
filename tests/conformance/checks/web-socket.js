// WebSocket: the object, misuse, a refusal, and what a page hears of a server that says what it was told.

import { check } from "../tools.js";

/** The suite's server, which answers as to any request. */
const NOBODY = `ws://${location.host}/log/socket`;
/** And where it speaks WebSocket. */
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
  check("WebSocket has the same shape", ["WebSocket", 1, [0, 1, 2, 3], "function"], () => [
    WebSocket.name,
    WebSocket.length,
    ["CONNECTING", "OPEN", "CLOSING", "CLOSED"].map((name) => WebSocket[name]),
    typeof WebSocket,
  ]),
  check("a socket is an instance of it, and of nothing else", [true, true, true, "[object WebSocket]", []], () => {
    const socket = new WebSocket(NOBODY);
    socket.close();
    const { prototype } = WebSocket;
    return [socket instanceof WebSocket, socket.constructor == WebSocket, Object.getPrototypeOf(socket) == prototype, `${socket}`, Object.keys(socket)];
  }),
  check("a class may extend WebSocket", [true, 2], () => {
    class Chat extends WebSocket {}
    const chat = new Chat(NOBODY);
    chat.close();
    return [chat instanceof Chat, chat.readyState];
  }),
  check("misuse of a socket is refused", ["throws TypeError", "throws SyntaxError", "throws InvalidStateError", "throws TypeError"], async (t) => {
    const socket = new WebSocket(NOBODY);
    const hows = [
      await t.how(() => WebSocket(NOBODY)),
      await t.how(() => new WebSocket("http://[")),
      await t.how(() => socket.send("too early")),
      await t.how(() => new WebSocket()),
    ];
    socket.close();
    return hows;
  }),
  check("a socket that is refused fails in order", ["error", "close 1006 false", 3], async () => {
    const socket = new WebSocket(NOBODY);
    const seen = [];
    socket.onerror = () => seen.push("error");
    await new Promise((resolve) => {
      socket.onclose = ({ code, wasClean }) => resolve(seen.push(`close ${code} ${wasClean}`));
    });
    return [...seen, socket.readyState];
  }),
  check("texts and bytes come back as they were sent, in order", ["a", "3 bytes", "", "ü\n"], async () => {
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
  check("an event of a socket is the browser's own", ["message", true, true, true, "", "MessageEvent"], async () => {
    const socket = await opened();
    socket.send("a");
    const event = await once(socket, "message");
    socket.close();
    return [event.type, event.isTrusted, event.target == socket, event.origin == ECHO.slice(0, ECHO.indexOf("/socket")), event.lastEventId, event.constructor.name];
  }),
  check("listeners of a socket hear in the order in which they came", ["first", "handler", "object", "last"], async () => {
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
  check("a listener of a socket may stop those after it", ["first"], async () => {
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
  check("a throwing socket listener is reported and stops no other", ["Error: broken", "second", "a"], async () => {
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
  check("a socket closed by the server has its code and reason", ["close 4001 that was all true", 3], async () => {
    const socket = await opened();
    socket.send("close 4001 that was all");
    return [closed(await once(socket, "close")), socket.readyState];
  }),
  check("a socket closed by the app has its code and reason", ["returns", 2, "close 3001 enough true", "returns"], async (t) => {
    const socket = await opened();
    const how = await t.how(() => socket.close(3001, "enough"));
    const { readyState } = socket;
    const end = closed(await once(socket, "close"));
    return [how, readyState, end, await t.how(() => socket.send("too late"))];
  }),
  check("a broken socket connection is reported as broken", ["close 1006  false"], async () => {
    const socket = await opened();
    socket.send("drop");
    return [closed(await once(socket, "close"))];
  }),
  check("a socket speaks the protocol that was agreed", ["chat", "", ""], async () => {
    const socket = await opened(["chat", "talk"]);
    socket.close();
    return [socket.protocol, socket.extensions, (await opened()).protocol];
  }),
  check("send() of a socket returns nothing and leaves no backlog", ["returns", true, 0], async (t) => {
    const socket = await opened();
    const how = await t.how(() => socket.send("a"));
    const nothing = socket.send("b") === undefined;
    for (const type of ["message", "message"]) await once(socket, type);
    socket.close();
    return [how, nothing, socket.bufferedAmount];
  }),
];

// WebSocket, as far as it goes without a server that speaks it: the object, misuse, a refusal.

import { check } from "../tools.js";

/** The suite's server, which answers as to any request. */
const NOBODY = `ws://${location.host}/log/socket`;

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
];

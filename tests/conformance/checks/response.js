// The Response and its body are the browser's own, and look like it.

import { check, events } from "../tools.js";

export default [
  check("the response is an instance of Response", [true, true, "[object Response]"], async (t) => {
    const response = await t.open("event");
    return [response instanceof Response, Object.getPrototypeOf(response) === Response.prototype, `${response}`];
  }),
  check("the body is an instance of ReadableStream", [true, true, "[object ReadableStream]"], async (t) => {
    const { body } = await t.open("event");
    return [body instanceof ReadableStream, Object.getPrototypeOf(body) === ReadableStream.prototype, `${body}`];
  }),
  check("the body is the same object each time", true, async (t) => {
    const response = await t.open("event");
    return response.body === response.body;
  }),
  check("url, type, redirected, status, statusText, ok", [true, "basic", false, 201, "Scripted", true], async (t) => {
    const address = t.play("event", { status: 201 });
    const { url, type, redirected, status, statusText, ok } = await fetch(address);
    return [url === location.origin + address, type, redirected, status, statusText, ok];
  }),
  check("nothing of the response or its body can be enumerated", [[], [], "{}", []], async (t) => {
    const response = await t.open("event");
    const inherited = [];
    for (const name in response.body) if (Object.hasOwn(response.body, name)) inherited.push(name);
    return [Object.keys(response), Object.keys(response.body), JSON.stringify(response), inherited];
  }),
  check("getters of the prototype accept it", [200, "basic", true, false], async (t) => {
    const response = await t.open("event");
    const get = (name) => Object.getOwnPropertyDescriptor(Response.prototype, name).get.call(response);
    return [get("status"), get("type"), get("body") === response.body, get("bodyUsed")];
  }),
  check("methods of the prototype accept it", [events(2), events(2)], async (t) => {
    const response = await t.open("event event");
    const copy = Response.prototype.clone.call(response);
    return [await Response.prototype.text.call(response), await Response.prototype.text.call(copy)];
  }),
  check("methods keep their names and lengths", "same", async (t) => {
    const response = await t.open("event");
    const natives = [Response.prototype, ReadableStream.prototype];
    const differing = [response, response.body].flatMap((object, at) =>
      Object.getOwnPropertyNames(natives[at])
        .filter((name) => typeof Object.getOwnPropertyDescriptor(natives[at], name).value == "function")
        .filter((name) => name != "constructor")
        .filter((name) => object[name].name !== natives[at][name].name || object[name].length !== natives[at][name].length),
    );
    return differing.length ? differing : "same";
  }),
  check("a reader's methods keep their names and lengths", "same", async (t) => {
    const { body } = await t.open("event");
    const reader = body.getReader();
    const native = ReadableStreamDefaultReader.prototype;
    const differing = ["read", "cancel", "releaseLock"].filter(
      (name) => reader[name].name !== native[name].name || reader[name].length !== native[name].length,
    );
    return differing.length ? differing : "same";
  }),
  check("headers can be read, and not be changed", ["b", true, "throws TypeError"], async (t) => {
    const { headers } = await t.open("event", {}, { headers: { "x-a": "b" } });
    return [headers.get("x-a"), [...headers.keys()].includes("content-type"), await t.how(() => headers.set("x-a", "c"))];
  }),
  check("bodyUsed tells whether it was read", [false, false, true], async (t) => {
    const response = await t.open("event");
    const before = response.bodyUsed;
    const reader = response.body.getReader();
    const locked = response.bodyUsed;
    await reader.read();
    return [before, locked, response.bodyUsed];
  }),
  check("a response cannot be cloned as structured data", "throws DataCloneError", async (t) => {
    const response = await t.open("event");
    return t.how(() => structuredClone(response));
  }),
  check("a clone looks like it", [true, true, "basic", 200, false], async (t) => {
    const response = await t.open("event");
    const copy = response.clone();
    return [copy instanceof Response, copy.url === response.url, copy.type, copy.status, copy.body === response.body];
  }),
  check("constructors are the browser's", ["Response", "ReadableStream"], async (t) => {
    const response = await t.open("event");
    return [response.constructor.name, response.body.constructor.name];
  }),
];

// The response and its body are native objects with native properties.

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
  check("the response's fields have their native values", [true, "basic", false, 201, "Scripted", true], async (t) => {
    const address = t.play("event", { status: 201 });
    const { url, type, redirected, status, statusText, ok } = await fetch(address);
    return [url === location.origin + address, type, redirected, status, statusText, ok];
  }),
  check("the response and its body have no enumerable own properties", [[], [], "{}", []], async (t) => {
    const response = await t.open("event");
    const inherited = [];
    for (const name in response.body) if (Object.hasOwn(response.body, name)) inherited.push(name);
    return [Object.keys(response), Object.keys(response.body), JSON.stringify(response), inherited];
  }),
  check("getters of Response.prototype accept the response", [200, "basic", true, false], async (t) => {
    const response = await t.open("event");
    const get = (name) => Object.getOwnPropertyDescriptor(Response.prototype, name).get.call(response);
    return [get("status"), get("type"), get("body") === response.body, get("bodyUsed")];
  }),
  check("methods of Response.prototype accept the response", [events(2), events(2)], async (t) => {
    const response = await t.open("event event");
    const copy = Response.prototype.clone.call(response);
    return [await Response.prototype.text.call(response), await Response.prototype.text.call(copy)];
  }),
  check("methods of response and body keep their names and lengths", "same", async (t) => {
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
  check("the app can read the headers and not change them", ["b", true, "throws TypeError"], async (t) => {
    const { headers } = await t.open("event", {}, { headers: { "x-a": "b" } });
    return [headers.get("x-a"), [...headers.keys()].includes("content-type"), await t.outcome(() => headers.set("x-a", "c"))];
  }),
  check("bodyUsed becomes true with the first read", [false, false, true], async (t) => {
    const response = await t.open("event");
    const before = response.bodyUsed;
    const reader = response.body.getReader();
    const locked = response.bodyUsed;
    await reader.read();
    return [before, locked, response.bodyUsed];
  }),
  check("structuredClone refuses a response", "throws DataCloneError", async (t) => {
    const response = await t.open("event");
    return t.outcome(() => structuredClone(response));
  }),
  check("a clone has the fields of its original and another body", [true, true, "basic", 200, false], async (t) => {
    const response = await t.open("event");
    const copy = response.clone();
    return [copy instanceof Response, copy.url === response.url, copy.type, copy.status, copy.body === response.body];
  }),
  check("constructor is the native one of response and body", ["Response", "ReadableStream"], async (t) => {
    const response = await t.open("event");
    return [response.constructor.name, response.body.constructor.name];
  }),
];

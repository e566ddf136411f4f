// The branches of a body, made by `tee` or `clone`, carry the same bytes and fail with the same errors.

import { check, events } from "../tools.js";

export default [
  check("tee returns two streams in an array and locks the body", [true, 2, true, true], async (t) => {
    const { body } = await t.open("event");
    const branches = body.tee();
    const streams = branches.every((branch) => branch instanceof ReadableStream);
    return [Object.getPrototypeOf(branches) === Array.prototype, branches.length, streams, body.locked];
  }),
  check("both branches of a tee carry all bytes", [events(3), events(3)], async (t) => {
    const branches = (await t.open("event event event")).body.tee();
    return Promise.all(branches.map((branch) => t.readAll(branch)));
  }),
  check("the app can read the second branch first", [events(2), events(2)], async (t) => {
    const [one, two] = (await t.open("event event")).body.tee();
    const second = await t.readAll(two);
    return [await t.readAll(one), second];
  }),
  check("the branches of a branch carry all bytes", [events(2), events(2), events(2)], async (t) => {
    const [one, two] = (await t.open("event event")).body.tee();
    const [three, four] = two.tee();
    return Promise.all([one, three, four].map((branch) => t.readAll(branch)));
  }),
  check("pipeThrough of a branch carries all text", [events(2), events(2)], async (t) => {
    const [one, two] = (await t.open("event event")).body.tee();
    return Promise.all([t.readAll(one.pipeThrough(new TextDecoderStream())), new Response(two).text()]);
  }),
  check("tee after a read carries the remaining bytes", [events(2), events(2)], async (t) => {
    const { body } = await t.open("event gate event");
    const reader = body.getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    reader.releaseLock();
    const branches = body.tee();
    await t.openGate();
    const rests = await Promise.all(branches.map((branch) => t.readAll(branch)));
    return rests.map((rest) => first + rest);
  }),
  check("a cut body fails both branches", [[events(1), "TypeError"], [events(1), "TypeError"]], async (t) => {
    const readers = (await t.open("event gate cut")).body.tee().map((branch) => branch.getReader());
    const firsts = await Promise.all(readers.map((reader) => t.firstEvent(reader)));
    await t.openGate();
    return Promise.all(readers.map((reader, at) => t.drain(reader, firsts[at])));
  }, { differs: { WebKit: [events(1), events(1)] } }),
  check("the branches of a tee share or copy chunks natively", [true, true], async (t) => {
    const [one, two] = (await t.open("event")).body.tee();
    const [first, second] = await Promise.all([one.getReader().read(), two.getReader().read()]);
    return [first.value.length == second.value.length, first.value instanceof Uint8Array];
  }),
  check("cancelling one branch leaves the other intact", [null, events(3)], async (t) => {
    const [one, two] = (await t.open("event gate event event")).body.tee();
    void one.cancel();
    const text = t.readAll(two);
    await t.settle();
    const { end } = await t.serverLog();
    await t.openGate();
    return [end, await text];
  }),
  check("cancelling a branch waits for the other", "pending", async (t) => {
    const [one] = (await t.open("event hold")).body.tee();
    return Promise.race([one.cancel().then(() => "resolved"), t.settle().then(() => "pending")]);
  }),
  check("a clone and its original carry all bytes", [events(3), events(3)], async (t) => {
    const response = await t.open("event event event");
    const copy = response.clone();
    return Promise.all([t.readAll(response.body), t.readAll(copy.body)]);
  }),
  check("the app can read a clone before its original", [events(2), events(2)], async (t) => {
    const response = await t.open("event event");
    const copy = await t.readAll(response.clone().body);
    return [await response.text(), copy];
  }),
  check("a clone of a clone carries all bytes", [events(2), events(2), events(2)], async (t) => {
    const response = await t.open("event event");
    const copy = response.clone();
    const third = copy.clone();
    return Promise.all([third.text(), copy.text(), t.readAll(response.body)]);
  }),
  check("clone() replaces the body by another object", [true, false, true], async (t) => {
    const response = await t.open("event");
    const before = response.body;
    response.clone();
    return [before.locked, response.body === before, response.body === response.body];
  }, { differs: { Firefox: [false, true, true] } }),
  check("a cut body fails both original and clone", ["rejects TypeError", "rejects TypeError"], async (t) => {
    const response = await t.open("event gate cut");
    const copy = response.clone();
    const both = [t.outcome(() => response.text()), t.outcome(() => copy.text())];
    await t.settle();
    await t.openGate();
    return Promise.all(both);
  }, { differs: { WebKit: ["resolves", "resolves"] } }),
];

// The cases of `instrumentation/contract.json`, for tests of one adapter each.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export const contract = JSON.parse(readFileSync(new URL("../../contract.json", import.meta.url), "utf8"));

/** The bytes of a text in the contract's notation. */
export function bytesOf(text) {
  if (typeof text === "string") return Buffer.from(text);
  if (Array.isArray(text)) return Buffer.concat(text.map(bytesOf));
  return "base64" in text ? Buffer.from(text.base64, "base64") : Buffer.from(text.repeat.repeat(text.times));
}

/** The request of a case by one of the contract's clients. */
export function requestOf(contractCase, client) {
  return { method: contractCase.request?.method ?? client.method ?? "POST", headers: client.headers };
}

export function responseOf(contractCase) {
  return { status: 200, headers: { "content-type": "text/event-stream" }, ...contractCase.response };
}

/** The body that the app sends. */
export function bodyOf(contractCase) {
  return Buffer.concat(contractCase.steps.flatMap((step) => ("send" in step ? [bytesOf(step.send)] : [])));
}

/** The case itself, and if it says so also with one more cut at each position of the body, and with each byte alone. */
export function withCuts(contractCase) {
  const positions = Array.from({ length: Math.max(bodyOf(contractCase).length - 1, 0) }, (_, at) => at + 1);
  const cuts = contractCase.cut_at_every_byte ? [...positions.map((at) => [at]), positions] : [];
  return [[], ...cuts].map((at) => ({ ...contractCase, cuts: at, steps: cutSteps(contractCase.steps, at) }));
}

function cutSteps(steps, positions) {
  let before = 0;
  return steps.flatMap((step) => {
    if (!("send" in step)) return [step];
    const bytes = bytesOf(step.send);
    const inside = positions.map((at) => at - before).filter((at) => at > 0 && at < bytes.length);
    before += bytes.length;
    const pieces = [0, ...inside].map((from, at) => bytes.subarray(from, inside[at]));
    return pieces.map((piece) => ({ ...step, send: { base64: piece.toString("base64") } }));
  });
}

/** Fails unless `body` is what the case expects for clients with or without comments. */
export function assertBody(contractCase, client, body) {
  if (contractCase.expect === "unchanged" || !client.comments) return assertBytes(body, bodyOf(contractCase));
  const choices = choicesOf(contractCase);
  const errors = choices.map((late) => errorOf(() => assertExpected(contractCase.expect, late, body)));
  if (!errors.includes(undefined)) throw errors[0];
}

/** Which comments may stand at their late place: none, or each set of those whose event is cut. */
function choicesOf({ expect, cuts }) {
  let at = 0;
  const events = {};
  for (const part of expect) {
    if (part.comment) events[part.comment] = { start: at };
    else if (part.late) events[part.late].end = at;
    else at += bytesOf(part).length;
  }
  const isCut = ({ start, end }) => cuts?.some((cut) => cut > start && cut < end);
  const names = Object.keys(events).filter((name) => isCut(events[name]));
  return names.reduce((sets, name) => [...sets, ...sets.map((set) => [...set, name])], [[]]);
}

function assertExpected(expect, late, body) {
  const comments = Object.fromEntries(expect.filter((part) => part.comment).map((part) => [part.comment, part]));
  let rest = body;
  for (const part of expect) {
    const isHere = part.comment ? !late.includes(part.comment) : late.includes(part.late);
    if (part.comment || part.late) {
      if (isHere) rest = afterComment(rest, comments[part.comment ?? part.late]);
    } else {
      const bytes = bytesOf(part);
      assertBytes(rest.subarray(0, bytes.length), bytes);
      rest = rest.subarray(bytes.length);
    }
  }
  assertBytes(rest, Buffer.alloc(0));
}

function afterComment(rest, { values, end }) {
  const line = rest.subarray(0, rest.indexOf("}") + 1).toString();
  assert.equal(line.slice(0, COMMENT.length), COMMENT);
  assert.deepEqual(JSON.parse(line.slice(COMMENT.length)), values);
  const after = rest.subarray(line.length);
  assert.equal(after.subarray(0, end.length).toString(), end);
  return after.subarray(end.length);
}

/** Fails if the collector did not get what the case says, or the stream has another id. */
export function assertFact(contractCase, client, body, sent) {
  const own = body.toString().replaceAll(/: llm-rum .*\n\n/g, "");
  assertBytes(Buffer.from(own), bodyOf(contractCase));
  const ids = [...body.toString().matchAll(/^: llm-rum (.*)$/gm)].map(([, values]) => JSON.parse(values).id);
  if (!contractCase.fact || !client.comments) return assert.deepEqual({ sent, ids }, { sent: undefined, ids: [] });
  const { id, source, ...fact } = sent;
  assert.match(id, /^[A-Za-z0-9_-]{16,64}$/);
  assert.equal(source, "llm-rum-server");
  assert.deepEqual(fact, contractCase.fact);
  assert.deepEqual(ids, [id, undefined].slice(0, ids.length));
}

function assertBytes(actual, expected) {
  if (Buffer.compare(actual, expected) === 0) return;
  // A difference of megabytes takes long to print.
  assert.equal(actual.subarray(0, 4096).toString(), expected.subarray(0, 4096).toString());
  assert.equal(actual.length, expected.length);
  assert.fail("the bytes differ after the first 4096");
}

function errorOf(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
}

const COMMENT = ": llm-rum ";

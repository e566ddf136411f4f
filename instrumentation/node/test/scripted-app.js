// An app that sends the steps of a contract's case, in step with its client, and a client over HTTP.

import { once } from "node:events";
import { request } from "node:http";
import { mock } from "node:test";

import { mark } from "llm-rum-server";
import { bytesOf, responseOf } from "./contract.js";

/** The clock of the case that runs, in milliseconds since the arrival of its request. */
export const clock = { nowMs: 0 };
mock.method(performance, "now", () => 1e6 + clock.nowMs);

/** Every comment, with the line ends that belong to it. */
const COMMENT = /: llm-rum \{[^}]*\}(\r\n|\r|\n){1,2}/g;

export class ScriptedApp {
  constructor(contractCase) {
    this.steps = contractCase.steps;
    this.response = responseOf(contractCase);
    this.error = new Error("upstream");
    /** Resolves when the app waits for its source, and its client is to leave. */
    this.isStuck = new Promise((resolve) => (this.stick = resolve));
    /** Whether the app was told that its client has left. */
    this.isLeft = false;
    /** Chunks that the client has. */
    this.received = [];
    this.waiting = undefined;
  }

  /** The chunks of the body. The next one is made when the client has the one before. */
  async *chunks() {
    let sent = 0;
    for (const step of this.steps) {
      clock.nowMs = step.at_ms ?? clock.nowMs;
      if (step.mark) mark(step.mark);
      if (step.fail) throw this.error;
      if (step.client_leaves) await new Promise(this.stick);
      if (!("send" in step)) continue;
      const bytes = bytesOf(step.send);
      sent += bytes.length;
      const receipt = this.receipt(sent);
      yield bytes;
      await receipt;
    }
  }

  /** Writes the chunks to a response of Node's. */
  async writeTo(response) {
    response.on("close", () => this.leave());
    try {
      for await (const bytes of this.chunks()) response.write(bytes);
      response.end();
    } catch (error) {
      response.destroy(error);
    }
  }

  leave() {
    this.isLeft = true;
  }

  /** Resolves when the client has so many of the app's bytes. */
  receipt(bytes) {
    return new Promise((resolve) => {
      this.waiting = { bytes, resolve };
      this.settle();
    });
  }

  receive(chunk) {
    this.received.push(chunk);
    this.settle();
  }

  settle() {
    const length = this.received.reduce((bytes, chunk) => bytes + chunk.length, 0);
    if (!this.waiting || length < this.waiting.bytes) return;
    const comments = Buffer.concat(this.received).toString("latin1").match(COMMENT) ?? [];
    const commentBytes = comments.reduce((bytes, comment) => bytes + comment.length, 0);
    if (length - commentBytes >= this.waiting.bytes) this.waiting.resolve();
  }
}

/** Sends a request and reads the whole response: its head, its chunks, and the error at its end, if any. */
export async function fetchAll(port, { method, headers }, app) {
  clock.nowMs = 0;
  const sent = request({ port, host: "127.0.0.1", path: "/chat", method, headers, agent: false });
  sent.end();
  app.isStuck.then(() => sent.destroy());
  const result = { chunks: [] };
  try {
    const [response] = await once(sent, "response");
    const { date, ...kept } = response.headers;
    Object.assign(result, { status: response.statusCode, headers: kept });
    for await (const chunk of response) {
      result.chunks.push(chunk);
      app.receive(chunk);
    }
  } catch (error) {
    result.error = error.code;
  }
  return result;
}

// The contract through real servers: plain `node:http`, Express, Fastify and Hono. A server without the middleware says
// what clients without comments must get, and how each framework ends a failed response.

import assert from "node:assert/strict";
import { after, before, describe, mock, test } from "node:test";
import { setImmediate } from "node:timers/promises";

import { assertBody, contract, requestOf, withCuts } from "./contract.js";
import { fetchAll, ScriptedApp } from "./scripted-app.js";
import { SERVERS } from "./servers.js";

// Hono's server logs the errors of the app.
mock.method(console, "error", (error) => assert.equal(error.message, "upstream"));

for (const [name, start] of Object.entries(SERVERS))
  describe(name, () => {
    let app;
    let server;
    let plainServer;

    before(async () => {
      server = await start(() => app, false);
      plainServer = await start(() => app, true);
    });
    after(() => Promise.all([server, plainServer].map((it) => it.close())));

    const run = async (at, contractCase, client) => {
      app = new ScriptedApp(contractCase);
      const closed = new Promise((resolve) => at.once("connection", (socket) => socket.once("close", resolve)));
      const result = await fetchAll(at.address().port, requestOf(contractCase, client), app);
      if (contractCase.steps.some((step) => step.client_leaves)) {
        await closed;
        // No time passes between the end of the connection and the news of it, only steps of the event loop.
        for (let steps = 0; steps < 5 && !app.isLeft; steps++) await setImmediate();
        assert.ok(app.isLeft);
      }
      return result;
    };

    const compare = async (contractCase, client) => {
      const expected = await run(plainServer, contractCase, client);
      const actual = await run(server, contractCase, client);
      assert.equal(actual.error, expected.error);
      assert.equal(actual.status, expected.status);
      const isWatched = client.comments && contractCase.expect !== "unchanged";
      const { "content-length": length, ...others } = expected.headers ?? {};
      const headers = isWatched && length ? { ...others, "transfer-encoding": "chunked" } : expected.headers;
      // Hono's server for Node adds a default type as soon as the headers of a response are read.
      if (actual.headers && !headers["content-type"] && name === "hono") delete actual.headers["content-type"];
      assert.deepEqual(actual.headers, headers);
      if (isWatched) assertBody(contractCase, client, Buffer.concat(actual.chunks));
      else assertChunks(actual.chunks, expected.chunks);
    };

    for (const contractCase of contract.cases)
      test(contractCase.name, async () => {
        for (const client of contract.clients) await compare(contractCase, client);
        // Each byte as a chunk.
        await compare(withCuts(contractCase).at(-1), contract.clients[0]);
      });
  });

/** The network cuts long chunks anywhere: of these only the bytes are compared. */
function assertChunks(actual, expected) {
  assert.ok(Buffer.concat(actual).equals(Buffer.concat(expected)));
  if (expected.every((chunk) => chunk.length < 10_000)) assert.deepEqual(actual.map(String), expected.map(String));
}

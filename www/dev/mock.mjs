/**
 * A mock collector for work on the dashboard: `node dev/mock.mjs [--port 8787] [--scenario NAME]`.
 * It serves `dist/` under the collector's content security policy, and `/v1` from invented streams.
 * Scenarios: ready, few, noserver, range (old data only), many (400 models in 30 days), empty, error,
 * falls (fails after the first load), locked (token `secret`).
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import {
  abandonment,
  accounting,
  breakdown,
  compare,
  heatmap,
  histogram,
  live,
  page,
  slo,
  summary,
  timeseries,
  windowOf,
} from "./responses.mjs";
import { makeStreams } from "./streams.mjs";

const { values: options } = parseArgs({
  options: { port: { type: "string", default: "8787" }, scenario: { type: "string", default: "ready" } },
});
const HOUR = 3_600_000;
const COOKIE = "llm_rum_session=mock";
const DIST = fileURLToPath(new URL("../dist/", import.meta.url));
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

const streams = invent(options.scenario, Date.now());

const server = createServer((request, response) => {
  const address = new URL(request.url, "http://mock");
  if (address.pathname === "/v1/live" && accessError(request) === null) return streamLive(response, address);
  Promise.resolve(responseTo(request, address)).then(({ status = 200, type = "application/json", body, cookie }) => {
    response.writeHead(status, {
      ...(cookie && { "Set-Cookie": cookie }),
      "Content-Type": type,
      "Content-Security-Policy":
        "default-src 'self'; style-src 'self'; script-src 'self'; frame-ancestors 'none'",
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
    });
    response.end(body);
  });
});
server.listen(Number(options.port), "127.0.0.1", () => {
  console.log(`mock listening on http://127.0.0.1:${server.address().port}`);
});

function responseTo(request, address) {
  if (address.pathname === "/v1/session") return sessionResponse(request);
  if (address.pathname.startsWith("/v1/")) return apiResponse(request, address);
  if (address.pathname === "/snippet.json") return ok({ site: "demo" });
  return fileResponse(address.pathname);
}

function invent(scenario, now) {
  switch (scenario) {
    case "empty":
      return [];
    case "few":
      return makeStreams(19, now - HOUR, now);
    case "range":
      return makeStreams(120, now - 5 * HOUR, now - 3 * HOUR);
    case "many":
      return makeStreams(12_000, now - 720 * HOUR, now, { names: 100 });
    default:
      return withOpen(
        makeStreams(9000, now - 26 * HOUR, now - 4 * HOUR).concat(
          makeStreams(6400, now - 4 * HOUR, now, { seed: 11, server: scenario !== "noserver" }),
        ),
      );
  }
}

/** Marks the newest three streams as open. */
function withOpen(all) {
  const open = ({ e2e_ms, close_ms, output_tokens, tpot_ms, finish_reason, ...rest }) => ({
    ...rest,
    open: true,
    outcome: "abandoned",
  });
  return [...all.slice(0, -3), ...all.slice(-3).map(open)];
}

let loads = 0;

function apiResponse(request, { pathname, searchParams: query }) {
  if (pathname === "/v1/summary") loads += 1;
  const denied = accessError(request);
  if (denied !== null) return denied;
  const [, , route, id] = pathname.split("/");
  if (route === "streams" && id) {
    const found = streams.find((stream) => stream.id === id);
    return found ? ok(found) : errorResponse(404, "unknown_stream", `no stream ${id}`);
  }
  if (route === "slo") return ok(slo(streams, query, Date.now()));
  if (route === "accounting") return ok(accounting(streams));
  const answer = { summary, timeseries, histogram, heatmap, breakdown, compare, abandonment, streams: page }[route];
  if (!answer) return errorResponse(404, "not_found", `no route ${pathname}`);
  try {
    return ok(answer(streams, query, windowOf(query, Date.now())));
  } catch (error) {
    return errorResponse(400, "bad_query", error.message);
  }
}

function accessError(request) {
  if (options.scenario === "falls" && loads > 1)
    return errorResponse(503, "storage_unavailable", "the disk is full");
  if (options.scenario === "error") return errorResponse(503, "storage_unavailable", "the disk is full");
  if (options.scenario === "locked" && !request.headers.cookie?.includes(COOKIE)) {
    return errorResponse(401, "unauthorized", "a token is required");
  }
  return null;
}

async function sessionResponse(request) {
  const session = ok({ signed_in_by: options.scenario === "locked" ? "session" : "nothing", name: "mock" });
  const attributes = "Path=/; HttpOnly; SameSite=Strict";
  switch (request.method) {
    case "POST": {
      const [body] = await request.toArray();
      if (body?.toString() !== JSON.stringify({ token: "secret" })) {
        return errorResponse(401, "wrong_token", "the token is wrong");
      }
      return { ...session, cookie: `${COOKIE}; ${attributes}` };
    }
    case "DELETE":
      return { status: 204, cookie: `${COOKIE}; Max-Age=0; ${attributes}` };
    default:
      return accessError(request) ?? session;
  }
}

/** Sends an update each second, with one more ended stream. */
function streamLive(response, { searchParams: query }) {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const startedAt = Date.now();
  const send = () => {
    if (options.scenario === "falls" && loads > 1) return response.end();
    const now = Date.now();
    const current = options.scenario === "range" ? streams : replayed(streams, now - startedAt);
    response.write(`data: ${JSON.stringify(live(current, query, now))}\n\n`);
  };
  send();
  const timer = setInterval(send, 1000);
  response.on("close", () => clearInterval(timer));
}

/** All streams, and the last ones once more with the current time. */
function replayed(all, elapsedMs) {
  const ended = all.filter((stream) => !stream.open).slice(-200);
  const again = ended.slice(0, Math.floor(elapsedMs / 1000) % 200);
  const now = Date.now();
  const shift = (stream, at) => ({ ...stream, received_ms: now - 1000 * (again.length - at) });
  return [...all, ...again.map(shift)];
}

async function fileResponse(pathname) {
  const name = normalize(pathname === "/" ? "/index.html" : pathname);
  try {
    return { type: TYPES[extname(name)], body: await readFile(join(DIST, name)) };
  } catch {
    return errorResponse(404, "not_found", `no file ${pathname}`);
  }
}

function ok(value) {
  return { body: JSON.stringify(value) };
}

function errorResponse(status, code, message) {
  return { status, body: JSON.stringify({ error: { code, message } }) };
}

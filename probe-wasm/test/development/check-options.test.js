// Mistakes in options: what is found, how it is said, and that right options are silent.

import assert from "node:assert/strict";
import { test } from "node:test";

import { mistakesInOptions, mistakesInStreamOptions, namesAnOption } from "../../js/development/check-options.js";

const right = { collector: "https://rum.example", site: "pk_live_1" };

test("right options have no mistakes", () => {
  const all = {
    ...right,
    useCase: "coding",
    provider: "openai",
    release: "2.8.0",
    variant: "short",
    attributes: { plan: "pro", seats: 5, trial: true, since: "2026-11-28" },
    wasmUrl: ["https://a.example/llm-rum.wasm"],
    wasmAllUrl: false,
    sampleRate: 0.5,
    consent: "pending",
    respectSignals: false,
    beforeSend: (report) => report,
    patchFetch: false,
    isStream: () => true,
    formats: [{ url: "/api", text: ["choices.*.text if type=token", "@data"], end: "type=all done", cumulative: true }],
    debug: true,
  };
  assert.deepEqual(mistakesInOptions(all), []);
  assert.deepEqual(mistakesInOptions({ ...right, useCase: "translation", release: undefined }), []);
  for (const provider of ["通义千问-max", "🦙 Llama", "👩\u200d👩\u200d👧", "हिन्दी", "می\u200cشود", "cafe\u0301", "a·b – c™", "❤\ufe0f"])
    assert.deepEqual(mistakesInOptions({ ...right, provider }), []);
  const tag = { ...right, sampleRate: "0.5", respectSignals: "false", attributes: "plan=pro tier=gold", nscript: "lazyOnload" };
  assert.deepEqual(mistakesInOptions(tag, { isTag: true }), []);
  assert.deepEqual(mistakesInStreamOptions(undefined), []);
});

test("each mistake is one sentence", () => {
  for (const [options, mistake] of [
    [{ site: undefined }, "`site` is missing, so nothing is measured"],
    [{ collector: "" }, "`collector` is missing, so nothing is measured"],
    [{ usecase: "chat" }, "`usecase` is unknown: did you mean `useCase`?"],
    [{ sampelRate: 1 }, "`sampelRate` is unknown: did you mean `sampleRate`?"],
    [{ colour: "red" }, "`colour` is unknown"],
    [{ beforeSend: "report" }, "`beforeSend` is of the type string, but must be function"],
    [{ useCase: "codign" }, '`useCase` is "codign", which has no default targets: did you mean "coding"?'],
    [{ useCase: "chat\u200b" }, "`useCase` is dropped: it has a character that is not visible, such as a zero-width or no-break space"],
    [{ release: "2.8\u00a0rc" }, "`release` is dropped: it has a character that is not visible, such as a zero-width or no-break space"],
    [{ useCase: "   " }, "`useCase` is dropped: it begins or ends with a blank"],
    [{ variant: "b " }, "`variant` is dropped: it begins or ends with a blank"],
    [{ provider: "gp\u200dt" }, "`provider` is dropped: it has a character that is not visible, such as a zero-width or no-break space"],
    [{ provider: "gpt\ufe0f" }, "`provider` is dropped: it has a character that is not visible, such as a zero-width or no-break space"],
    [{ release: "\u0301" }, "`release` is dropped: it has a character that is not visible, such as a zero-width or no-break space"],
    [{ provider: "filled\u3164" }, "`provider` is dropped: it has a character that is not visible, such as a zero-width or no-break space"],
    [{ variant: "é".repeat(65) }, "`variant` is dropped: it is longer than 128 bytes"],
    [{ formats: "{text}" }, "`formats` is no JSON, and ignored"],
    [{ formats: [7] }, "`formats` has an element that is no object"],
    [{ formats: [{ url: "/a", end: "done" }] }, "`formats` has no `text`, so its streams have no TTFT"],
    [{ formats: { text: "t", ends: "x" } }, "`formats` has the unknown key `ends`"],
    [{ formats: '{"text":"t","url":7}' }, "`formats` has a `url` that is no string"],
    [{ formats: { text: "t", end: "a..b" } }, '`formats` has a rule for `end` that is not understood: "a..b"'],
    [{ formats: { text: "a b" } }, '`formats` has a rule for `text` that is not understood: "a b"'],
    [{ formats: { text: "@name" } }, '`formats` has a rule for `text` that is not understood: "@name"'],
    [{ formats: { text: "t", error: 7 } }, "`formats` has a rule for `error` that is not understood: 7"],
    [{ formats: { text: Array(33).fill("t") } }, "`formats` has more than 32 rules"],
    [{ consent: "yes" }, '`consent` is "yes", which counts as "pending": nothing is sent'],
    [{ sampleRate: 50 }, "`sampleRate` is 50, but must be above 0 and at most 1"],
    [{ attributes: { Plan: "pro" } }, '`attributes` has the key "Plan", but keys are small letters, digits and "_"'],
    [
      { attributes: { user: "jo@example.org" } },
      '`attributes` has a value for "user" that is no short identifier: at most 32 letters, digits and "._-", and at most 8 digits',
    ],
    [{ attributes: { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 } }, "`attributes` has more than 5 keys"],
  ])
    assert.deepEqual(mistakesInOptions({ ...right, ...options }), [mistake]);
});

test("attributes of the tag are named as they are written", () => {
  const mistakes = mistakesInOptions({ site: "s", collector: "c", usCase: "chat" }, { isTag: true });
  assert.deepEqual(mistakes, ["data-us-case is unknown: did you mean data-use-case?"]);
  assert.equal(mistakesInOptions({ collector: "c" }, { isTag: true })[0], "data-site is missing, so nothing is measured");
});

test("streams have options of their own", () => {
  assert.deepEqual(mistakesInStreamOptions({ useCase: "chat", site: "s" }), ["`site` is unknown"]);
});

test("no options at all are a mistake and no error", () => {
  assert.equal(mistakesInOptions(undefined).length, 2);
  assert.equal(mistakesInOptions({ ...right, attributes: null }).length, 0);
});

test("a tag names an option by its name or nearly", () => {
  for (const [dataset, expected] of [
    [{}, false],
    [{ nscript: "lazyOnload", cfasync: "false" }, false],
    [{ useCase: "chat" }, true],
    [{ sites: "pk_live_1" }, true],
  ])
    assert.equal(namesAnOption(dataset), expected, JSON.stringify(dataset));
});

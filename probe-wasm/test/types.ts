// How an app uses the package, for the compiler alone: what must compile, and what must not.

import { start, type Probe, type StreamReport } from "../llm-rum.js";
import { eventSource, failures, gradio, marks, networkTiming, output, paint, probeOverhead, webSocket, xhr } from "../more.js";

const probe: Probe = start({ collector: "https://rum.example", site: "pk_live_1", useCase: "chat" });

const stop: () => void = probe.onFirstToken(({ ttft_ms, open }: StreamReport) => [ttft_ms?.toFixed(), open]);
probe.onStreamEnd((report) => report.outcome === "complete" && report.gaps?.counts.length);
probe.use(eventSource(), xhr({ isStream: (url) => url.endsWith("/chat") })).use(webSocket({ isStream: () => true }));
const unwatch: () => void = probe.use(paint(), failures(), networkTiming(), probeOverhead()).watchOutput(document.body);
const watched: typeof fetch = probe.wrapFetch(fetch);
start({ collector: "", site: "", sampleRate: 0.1, consent: "pending", respectSignals: false, wasmIntegrity: "sha256-x" });
start({ collector: "", site: "", beforeSend: (report) => (report.page?.route === "/admin" ? null : report) });
start({ collector: "", site: "", isBackground: (input, init) => input === "/suggestions" || init?.body === "" });
start({ collector: "", site: "", routes: ["/projects/:id/chat"] });
const background: typeof fetch = probe.wrapFetch(fetch, { background: true });
probe.setConsent("granted");
const shown: StreamReport | null | undefined = probe.lastReport();
const flushed: Promise<void> = probe.flush();
window.llmRum?.probe?.stop();
probe.use(output(), output({ output: "main .answer", busy: ".running", quietMs: 3000 }));
probe.use(marks()).mark?.("retrieval");
probe.use(eventSource({ optionsOf: (url) => (url.includes("/code") ? { useCase: "coding" } : undefined) }), gradio());
probe.use(webSocket({ isStream: () => true, optionsOf: (url, sent) => ({ background: sent === "ping" }) }));

// @ts-expect-error a site is needed
start({ collector: "https://rum.example" });
// @ts-expect-error a page has sockets for other things, too
webSocket();
// @ts-expect-error what the user said is said in words
start({ collector: "", site: "", consent: true });
// @ts-expect-error there is no third answer
probe.setConsent("pending");
// @ts-expect-error no such outcome
probe.onStreamEnd(({ outcome }) => outcome === "finished");

export { background, flushed, shown, stop, unwatch, watched };

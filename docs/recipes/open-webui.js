// Open WebUI, whose answers come over socket.io. Save it over `loader.js` in the folder of its static files: with
// STATIC_DIR set, `loader.js` there, once the server has started, as a start copies its own.
for (const [file, data] of [
  ["llm-rum.js", { site: "pk_live_1" }],
  ["llm-rum-more.js", { with: "webSocket", socket: "/ws/socket.io" }],
]) {
  const script = Object.assign(document.createElement("script"), { src: `https://rum.example/${file}`, async: false });
  Object.assign(script.dataset, data);
  document.head.append(script);
}

// Chainlit, whose answers come over socket.io. Save it as `public/llm-rum-loader.js`, and name it in `.chainlit/config.toml`:
//
// [UI]
// custom_js = "/public/llm-rum-loader.js"
for (const [file, data] of [
  ["llm-rum.js", { site: "pk_live_1" }],
  ["llm-rum-more.js", { with: "webSocket", socket: "/ws/socket.io" }],
]) {
  const script = Object.assign(document.createElement("script"), { src: `https://rum.example/${file}`, async: false });
  Object.assign(script.dataset, data);
  document.head.append(script);
}

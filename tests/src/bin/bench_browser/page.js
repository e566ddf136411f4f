// Loads a frame for each of the SDKs that `args` names. `readers` has them for what runs later.
window.readers = [];
for (const sdk of args[0]) {
  const frame = document.createElement("iframe");
  frame.src = `/cost.html?sdk=${sdk}`;
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
  document.body.append(frame);
  await loaded;
  await frame.contentWindow.cost.ready;
  readers.push(frame.contentWindow);
}

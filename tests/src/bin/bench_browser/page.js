// Reads in all frames in turns, so that what the machine does else meets all of them. `args` is the names
// of the SDKs, the number of rounds, and the events of an answer; gives back microseconds per read.
const [sdks, rounds, events] = args;
const frames = [];
for (const sdk of sdks) {
  const frame = document.createElement("iframe");
  frame.src = `/cost.html?sdk=${sdk}`;
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
  document.body.append(frame);
  await loaded;
  await frame.contentWindow.cost.ready;
  frames.push(frame.contentWindow);
}
const taken = sdks.map(() => []);
for (let round = -2; round < rounds; round++)
  for (const [at, frame] of frames.entries()) {
    const us = await frame.cost.perRead(events);
    // Two rounds for the compilers.
    if (round >= 0) taken[at].push(us);
    // What an SDK does after the end of a stream is not the next one's.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
return taken;

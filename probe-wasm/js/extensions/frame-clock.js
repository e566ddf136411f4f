// Tells when the browser has presented a frame of the page.

/** `onPresented` gets each frame that was requested by `next`, after it was presented. */
export class FrameClock {
  /** The frame that shows the next changes of the page, once something has asked for it. */
  #next;
  /** Frames that have begun and are not presented yet, the oldest first. */
  #begun = [];
  /** Another object each time the page is hidden: no user waited for a frame from before. */
  #visit = {};
  #channel = new MessageChannel();
  #onPresented;

  constructor(guard, onPresented) {
    this.#onPresented = onPresented;
    this.#channel.port1.onmessage = () => guard(() => this.#present());
    document.addEventListener("visibilitychange", this.#onVisibilityChange, true);
  }

  stop() {
    document.removeEventListener("visibilitychange", this.#onVisibilityChange, true);
  }

  /** The frame that shows what changes now. It gets its time `at` when it is presented in a visible page. */
  next() {
    return (this.#next ??= this.#request());
  }

  #request() {
    requestAnimationFrame(() => {
      this.#begun.push(this.#next);
      this.#next = undefined;
      // A frame's own time is its start, before the text was there. A message posted in it arrives after it.
      this.#channel.port2.postMessage(0);
    });
    return { visit: !document.hidden && this.#visit };
  }

  #present() {
    const frame = this.#begun.shift();
    if (frame.visit == this.#visit) frame.at = performance.now();
    this.#onPresented(frame);
  }

  #onVisibilityChange = () => {
    if (document.hidden) this.#visit = {};
  };
}

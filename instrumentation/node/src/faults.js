// An internal fault must not reach the app: the code around it goes on without comments.

let isLogged = false;

/** Logs the first fault of the process; more of the same would fill the app's log. @param {unknown} error */
export function logFault(error) {
  if (isLogged) return;
  isLogged = true;
  console.error("llm-rum-server: internal fault, responses are sent without server timing:", error);
}

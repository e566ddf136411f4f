// Where the user is, and what the page said: the path and the app's options come in, a route and classes
// go out, and nothing that could tell one user from another. Browser and system are not among them: the
// collector has them from the header that every request carries.

/** A short word as in source code: small letters, with at most two digits, as in `v1`. */
const WORD = /^(?!(\D*\d){3}|\d+$)[a-z\d_.-]{1,24}$/;
const MAX_SEGMENTS = 6;

/** What a report says of the page: a function of the request's model, to be called when it is made. */
export function describer({ useCase, provider, release }) {
  const { maxTouchPoints, platform, connection } = navigator;

  return (model) => ({
    use_case: useCase,
    provider,
    model,
    page: {
      // An iPad takes itself for a Mac, but no Mac has a touch screen; an iPad has five fingers of it.
      device: maxTouchPoints == 5 && platform == "MacIntel" ? "tablet" : undefined,
      // Only Chromium has it.
      connection: connection?.effectiveType,
      release,
      route: routeOf(location.pathname),
    },
  });
}

/** The path with every segment that may name a person or a thing replaced by `:id`. */
export function routeOf(path) {
  const segments = path.split("/").filter((segment) => segment);
  return "/" + segments.slice(0, MAX_SEGMENTS).map((segment) => (WORD.test(segment) ? segment : ":id")).join("/");
}

// Where the user is, and what the page said: the browser's own words and the app's options come in,
// families and classes go out, and nothing that could tell one user from another.

// Families, and the words that each is known by. The first found decides, as each browser names those that
// it wants to be taken for after itself.
const BROWSERS = {
  edge: "Edg",
  opera: "OPR/",
  samsung: "SamsungBrowser",
  firefox: "Firefox|FxiOS",
  chrome: "Chrom|CriOS",
  safari: "Safari",
  webkit: "AppleWebKit",
};
const SYSTEMS = {
  android: "Android",
  ios: "iPhone|iPod",
  windows: "Windows",
  macos: "Macintosh",
  chromeos: "CrOS",
  linux: "Linux",
};

/** A short word as in source code: small letters, with at most two digits, as in `v1`. */
const WORD = /^(?!(\D*\d){3}|\d+$)[a-z\d_.-]{1,24}$/;
const MAX_SEGMENTS = 6;

/** What a report says of the page: a function of the request's model, to be called when it is made. */
export function describer({ useCase, provider, release }) {
  const { userAgent, maxTouchPoints, connection } = navigator;
  const has = (words) => userAgent.match(words);
  const first = (families) => Object.keys(families).find((family) => has(families[family]));
  // An iPad takes itself for a Mac, but no Mac has a touch screen; an iPad has five fingers of it.
  const pad = has("iPad") || (maxTouchPoints == 5 && has("Macintosh"));
  const browser = first(BROWSERS);
  const os = pad ? "ios" : first(SYSTEMS);
  const device = !pad && has("Mobi") ? "mobile" : pad || has("Android") ? "tablet" : "desktop";

  return (model) => ({
    use_case: useCase,
    provider,
    model,
    page: {
      browser,
      os,
      device: os && device,
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

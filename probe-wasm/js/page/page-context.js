// Describes the page for reports: the route, coarse properties of the device, and the app's options. Nothing of it can
// distinguish one user from another. The collector takes browser and system from the header of the request.

/** A short word as in source code: lower-case letters with at most two digits, as in `v1`. */
const WORD = /^(?!(\D*\d){3}|\d+$)[a-z\d_.-]{1,24}$/;
const MAX_SEGMENTS = 6;

/**
 * A function that describes the page for a report of a request with this model, at the time of the call. `own` are
 * options of that call alone.
 */
export function describer(options) {
  const { maxTouchPoints, platform, connection } = navigator;

  return (model, own) => {
    const { useCase, provider, release, variant, attributes, background } = { ...options, ...own };
    return {
    use_case: useCase,
    provider,
    model,
    variant,
    attributes,
    background,
    page: {
      // An iPad says that it is a Mac, but no Mac has a touch screen. An iPad has five touch points.
      device: maxTouchPoints == 5 && platform == "MacIntel" ? "tablet" : undefined,
      // Only Chromium has this property.
      connection: connection?.effectiveType,
      release,
      route: routeOf(location.pathname),
    },
  };
  };
}

/** The path, with `:id` for each segment that may name a person or a thing. */
export function routeOf(path) {
  const segments = path.split("/").filter((segment) => segment);
  return "/" + segments.slice(0, MAX_SEGMENTS).map((segment) => (WORD.test(segment) ? segment : ":id")).join("/");
}

// Describes the page for reports: the route, coarse properties of the device, and the app's options. Nothing of it can
// distinguish one user from another. The collector takes browser and system from the header of the request.

/**
 * Words of usual paths. Any other part of a path may name a person or a thing, however short it is: only the app knows
 * its own words.
 */
const WORDS = "c app chat chats assistant new";
const MAX_SEGMENTS = 6;

/**
 * A function that describes the page for a report of a request with this model, at the time of the call. `own` are
 * options of that call alone.
 */
export function describer(options) {
  const { maxTouchPoints, platform, connection } = navigator;

  return (model, own) => {
    const { useCase, provider, release, variant, attributes, background, routes } = { ...options, ...own };
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
      route: routeOf(location.pathname, routes),
    },
  };
  };
}

/**
 * The path, with `:id` for each segment that is neither a usual word nor one of the app's `routes`. The tag has the
 * routes as a text.
 */
export function routeOf(path, routes) {
  const words = `${WORDS} ${routes}`.split(/[/\s,]+/);
  const segments = path.split("/").filter((segment) => segment);
  return "/" + segments.slice(0, MAX_SEGMENTS).map((segment) => (words.includes(segment) ? segment : ":id")).join("/");
}

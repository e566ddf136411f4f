// Which requests come from browsers, and which responses can carry a comment.

/**
 * Only browsers send these, and no script can set them. Not `Sec-Fetch-Mode`: Node's `fetch` sends it, too.
 * @param {(name: string) => unknown} header The value of a request header.
 */
export function isFromBrowser(header) {
  return Boolean(header("sec-fetch-site") || header("origin"));
}

/**
 * @param {number} status
 * @param {(name: string) => unknown} header The value of a response header.
 */
export function canCarryComments(status, header) {
  const type = String(header("content-type") ?? "").split(";", 1)[0].trim().toLowerCase();
  const encoding = String(header("content-encoding") ?? "identity").trim().toLowerCase();
  return status === 200 && type === "text/event-stream" && encoding === "identity";
}

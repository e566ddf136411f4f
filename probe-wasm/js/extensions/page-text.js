// Finds the text of a page, also in open shadow roots, which neither `textContent` nor selectors look into.

/** Elements whose text is code. A component brings its style into its root. */
export const CODE = "style, script";
const TEXT_NODE = 3;
const FRAGMENT_NODE = 11;

/** The node and those around it, as they are now: later it may be elsewhere. A shadow root is inside its host. */
export function pathOf(node) {
  const path = [];
  // A link has a `host`, too: its server.
  for (; node; node = node.parentNode ?? (node.nodeType == FRAGMENT_NODE ? node.host : undefined)) path.push(node);
  return path;
}

/** The text nodes in the nodes, but not in elements that are `leftOut`. With `output` only those in such elements. */
export function textsIn(nodes, leftOut = CODE, output = undefined, found = []) {
  for (const node of nodes)
    if (node.nodeType == TEXT_NODE) {
      if (!output) found.push(node);
    } else if (!node.matches?.(leftOut)) textsIn(childrenOf(node), leftOut, isOf(node, output) ? undefined : output, found);
  return found;
}

/** The child nodes, and those of an open shadow root. */
export function childrenOf({ shadowRoot, childNodes }) {
  return shadowRoot ? [...shadowRoot.childNodes, ...childNodes] : childNodes;
}

/** The open shadow roots in the node, but not in one of them. */
export function rootsIn(node) {
  const roots = node.shadowRoot ? [node.shadowRoot] : [];
  for (const { shadowRoot } of node.querySelectorAll?.("*") ?? []) if (shadowRoot) roots.push(shadowRoot);
  return roots;
}

export function isOf(node, selector) {
  return !!selector && !!node.matches?.(selector);
}

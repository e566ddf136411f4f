// Known differences of an SDK: `{ SDK: { ENGINE: [CHECK] } }`. The table shows them as `known`, docs/browsers.md lists
// them. A known difference that no longer exists fails.

export default {};

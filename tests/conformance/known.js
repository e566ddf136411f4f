// What an SDK is known to change: `{ SDK: { ENGINE: [CHECK] } }`. Shown as known in the table, and told in
// docs/browsers.md. One that is no longer so fails.

export default {};

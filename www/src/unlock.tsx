/** The collector wants a token: a form for it. The token stays in this tab's session storage. */
import { useState } from "preact/hooks";

import { unlock } from "./feed";
import { token } from "./state";

export function Unlock() {
  const [typed, setTyped] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed.trim()) unlock(typed.trim());
  };
  return (
    <section class="empty">
      <h2>This collector wants its admin token</h2>
      <p>
        It is the <code>admin_token</code> of the collector’s configuration. This tab keeps it until it is
        closed.
      </p>
      <form class="unlock" onSubmit={submit}>
        {/* Password managers file a token under a name. */}
        <input type="text" autocomplete="username" value="llm-rum" readOnly hidden />
        <label>
          <span class="unseen">Admin token</span>
          <input
            type="password"
            autocomplete="current-password"
            placeholder="Admin token"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
            autofocus
          />
        </label>
        <button type="submit" class="more">
          Unlock
        </button>
      </form>
      {token.value !== null && <p class="outcome bad">The last token was not accepted.</p>}
    </section>
  );
}

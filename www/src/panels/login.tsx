/** Form for the access token. `sessionStorage` keeps it for the tab. */
import { useEffect, useRef, useState } from "preact/hooks";

import { tokenError } from "../api/token";
import { login } from "../polling/feed";
import { token } from "../state";

export function Login() {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  // `autofocus` works once per page, and this form appears again after a rejected token.
  useEffect(() => input.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    const tokenFault = tokenError(typed.trim());
    setError(tokenFault);
    if (tokenFault === null) login(typed.trim());
    else input.current?.focus();
  };
  return (
    <section class="empty">
      <h2>Sign in</h2>
      <p>
        Paste a read token. Ask your administrator, or see <code>read_tokens</code> and <code>admin_token</code> in the
        collector’s configuration. The token is stored in this tab only.
      </p>
      <form class="login" onSubmit={submit}>
        {/* Password managers store a token under a user name. */}
        <input type="text" autocomplete="username" value="llm-rum" readOnly hidden />
        <label>
          <span class="unseen">Token</span>
          <input
            ref={input}
            type="password"
            autocomplete="current-password"
            placeholder="Token"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="more">
          Sign in
        </button>
      </form>
      {(error !== null || token.value !== null) && (
        <p class="outcome bad" role="alert">
          {error ?? "Token rejected."}
        </p>
      )}
    </section>
  );
}

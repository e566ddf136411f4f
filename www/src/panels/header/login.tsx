/** Form for the access token. The page sends it once, for a cookie that scripts cannot read. */
import { useEffect, useRef, useState } from "preact/hooks";

import { tokenError } from "../../api/token";
import { login } from "../../polling/feed";

export function Login() {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  // `autofocus` works once per page, and this form appears again after a rejected token.
  useEffect(() => input.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    setSending(true);
    const fault = tokenError(typed.trim()) ?? (await login(typed.trim()));
    setSending(false);
    setError(fault);
    if (fault !== null) input.current?.focus();
  };
  return (
    <section class="empty">
      <h2>Sign in</h2>
      <p>
        Paste a token with the scope <code>read</code>. Ask your administrator, or see <code>[[tokens]]</code> in the
        collector’s configuration. You stay signed in for 30 days.
      </p>
      <form class="login" data-sign-in onSubmit={(event) => void submit(event)}>
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
      {error !== null && (
        <p class="outcome bad" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

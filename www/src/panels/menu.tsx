/** Menu of the header: installation, documentation, API, help and sign-out. */
import { useEffect, useRef } from "preact/hooks";

import { logout } from "../polling/feed";
import { session } from "../state";
import { Icon } from "../ui/icon";
import { hasShortcuts, isHelpOpen } from "./shortcuts";

const DOCS = "https://github.com/llm-rum/llm-rum/tree/main/docs";

export function Menu() {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (menu.current) menu.current.open = false;
  };
  useEffect(() => {
    const onPointer = ({ target }: Event) => {
      if (target instanceof Node && !menu.current?.contains(target)) close();
    };
    addEventListener("pointerdown", onPointer);
    return () => removeEventListener("pointerdown", onPointer);
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !menu.current?.open) return;
    close();
    menu.current.querySelector("summary")?.focus();
  };
  const onFocusOut = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget instanceof Node && !menu.current?.contains(relatedTarget)) close();
  };
  return (
    <details ref={menu} class="menu" data-menu onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
      <summary title="Menu">
        <Icon name="menu" />
        <span class="unseen">Menu</span>
      </summary>
      <ul onClick={close}>
        <li>
          <a href="snippet">Install the probe</a>
        </li>
        <li>
          <a href={DOCS} rel="noreferrer">
            Documentation
          </a>
        </li>
        <li>
          <a href="openapi.json">API (OpenAPI)</a>
        </li>
        <li>
          <button type="button" data-help-button onClick={() => (isHelpOpen.value = true)}>
            Shortcuts and terms {hasShortcuts.value && <kbd>?</kbd>}
          </button>
        </li>
        <SignOut />
      </ul>
    </details>
  );
}

/** Shown for a session only. A proxy in front has its own way to sign out. */
function SignOut() {
  if (session.value?.signed_in_by !== "session") return null;
  return (
    <li>
      <button type="button" data-sign-out onClick={() => void logout()}>
        Sign out <small>{session.value.name}</small>
      </button>
    </li>
  );
}

/** Menu of the header: installation, documentation, API, help and sign-out. */
import { logout } from "../../polling/feed";
import { session } from "../../state";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { hasShortcuts, isHelpOpen } from "./shortcuts";

export const DOCS = "https://github.com/llm-rum/llm-rum/tree/main/docs";

export function Menu() {
  return (
    <Popover kind="menu" label={<MenuLabel />} title="Menu">
      {({ close }) => (
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
      )}
    </Popover>
  );
}

function MenuLabel() {
  return (
    <>
      <Icon name="menu" />
      <span class="unseen">Menu</span>
    </>
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

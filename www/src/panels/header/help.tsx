/** Dialog with the keyboard shortcuts and all terms. */
import { useEffect, useRef } from "preact/hooks";

import { GLOSSARY } from "../../api/glossary";
import { METRIC_LABELS, METRICS } from "../../api/metrics";
import { Icon } from "../../ui/icon";
import { hasShortcuts, isHelpOpen, setShortcuts, SHORTCUTS } from "./shortcuts";

export function Help() {
  return isHelpOpen.value ? <HelpDialog /> : null;
}

const close = () => (isHelpOpen.value = false);

function HelpDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    dialog.current?.querySelector("h2")?.focus();
    return () => {
      dialog.current?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="sheet help"
      data-help
      aria-labelledby="help-title"
      onCancel={close}
      onClick={(event) => event.target === event.currentTarget && close()}
    >
      <div class="sheet-inside">
        <header class="sheet-head">
          <h2 id="help-title" tabIndex={-1}>
            Shortcuts and terms
          </h2>
          <button type="button" class="quiet" onClick={close} title="Close">
            <Icon name="close" />
            <span class="unseen">Close</span>
          </button>
        </header>
        <section aria-labelledby="shortcuts-title">
          <h3 id="shortcuts-title">Keyboard shortcuts</h3>
          <Shortcuts />
        </section>
        <section aria-labelledby="terms-title">
          <h3 id="terms-title">Terms</h3>
          <Definitions entries={Object.entries(GLOSSARY)} />
        </section>
        <section aria-labelledby="metrics-title">
          <h3 id="metrics-title">Metrics</h3>
          <Definitions entries={METRICS.map((metric) => [METRIC_LABELS[metric].title, METRIC_LABELS[metric].meaning])} />
        </section>
      </div>
    </dialog>
  );
}

function Definitions({ entries }: { entries: [term: string, meaning: string][] }) {
  return (
    <dl class="terms">
      {entries.map(([term, meaning]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}

function Shortcuts() {
  return (
    <>
      <dl class="terms">
        {SHORTCUTS.map(({ keys, label }) => (
          <div key={label}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>Close what is open</dd>
        </div>
      </dl>
      <label class="choice">
        <input
          type="checkbox"
          checked={hasShortcuts.value}
          onChange={(event) => setShortcuts(event.currentTarget.checked)}
        />
        Use shortcuts
      </label>
    </>
  );
}

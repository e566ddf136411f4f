/** A button that opens a panel below it. A click outside, Escape and a focus elsewhere close the panel. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface PopoverProps {
  kind: string;
  label: ComponentChildren;
  title: string;
  /** The panel. */
  children: (panel: { isOpen: boolean; close: () => void }) => ComponentChildren;
}

export function Popover({ kind, label, title, children }: PopoverProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    if (details.current) details.current.open = false;
  };
  useEffect(() => {
    const onPointer = ({ target }: Event) => {
      if (target instanceof Node && !details.current?.contains(target)) close();
    };
    addEventListener("pointerdown", onPointer);
    return () => removeEventListener("pointerdown", onPointer);
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !details.current?.open) return;
    close();
    details.current.querySelector("summary")?.focus();
  };
  const onFocusOut = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget instanceof Node && !details.current?.contains(relatedTarget)) close();
  };
  return (
    <details
      ref={details}
      class={kind}
      data-popover={kind}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      onKeyDown={onKeyDown}
      onFocusOut={onFocusOut}
    >
      <summary title={title}>{label}</summary>
      {children({ isOpen, close })}
    </details>
  );
}

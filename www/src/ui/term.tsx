/** A term with its definition, which opens by click, touch or keyboard. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

interface TermProps {
  /** From the glossary or from the table of metrics. */
  meaning: string;
  /** Accessible name, if the children are only a mark. */
  label?: string;
  children: ComponentChildren;
}

export function Term({ meaning, label, children }: TermProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  return (
    <>
      <button
        ref={button}
        type="button"
        class="term"
        aria-label={label}
        aria-expanded={isOpen}
        aria-describedby={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen && <Definition id={id} button={button.current} text={meaning} onClose={() => setOpen(false)} />}
    </>
  );
}

interface DefinitionProps {
  id: string;
  button: HTMLElement | null;
  text: string;
  onClose: () => void;
}

/** Has a fixed position, because tables and charts clip what leaves them. */
function Definition({ id, button, text, onClose }: DefinitionProps) {
  const box = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (!box.current || !button) return;
    const at = button.getBoundingClientRect();
    const { width, height } = box.current.getBoundingClientRect();
    const left = Math.max(MARGIN, Math.min(at.left, document.documentElement.clientWidth - width - MARGIN));
    const fitsBelow = at.bottom + height + MARGIN <= innerHeight;
    box.current.style.left = `${left}px`;
    box.current.style.top = `${fitsBelow ? at.bottom + GAP : at.top - height - GAP}px`;
  }, [text]);
  useEffect(() => {
    const onPointer = ({ target }: Event) => {
      const isInside = target instanceof Node && (box.current?.contains(target) || button?.contains(target));
      if (!isInside) onClose();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      // The key must not close the sheet around the term, too.
      event.preventDefault();
      event.stopPropagation();
      onClose();
    };
    const options = { capture: true };
    addEventListener("pointerdown", onPointer, options);
    addEventListener("keydown", onKey, options);
    addEventListener("scroll", onClose, options);
    button?.addEventListener("blur", onClose);
    return () => {
      removeEventListener("pointerdown", onPointer, options);
      removeEventListener("keydown", onKey, options);
      removeEventListener("scroll", onClose, options);
      button?.removeEventListener("blur", onClose);
    };
  }, []);
  return (
    <span ref={box} id={id} class="definition" role="tooltip" data-definition>
      {text}
    </span>
  );
}

const GAP = 6;
const MARGIN = 8;

/** Light theme, dark theme or the system's. The browser stores the choice; `?theme=` overrides it for one page. */
import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const STORAGE_KEY = "llm-rum-theme";
const THEMES: readonly Theme[] = ["auto", "light", "dark"];
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(systemDark.matches);

/** Print output is always light. */
const isPrinting = signal(false);

export const theme = signal<Theme>(initialTheme());
export const shownTheme = computed<"light" | "dark">(() => {
  if (isPrinting.value) return "light";
  if (theme.value !== "auto") return theme.value;
  return systemIsDark.value ? "dark" : "light";
});

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
  try {
    localStorage.setItem(STORAGE_KEY, theme.value);
  } catch {
    // Storage can be disabled: the choice then lasts as long as the page.
  }
}

export function startTheme(): void {
  systemDark.addEventListener("change", () => (systemIsDark.value = systemDark.matches));
  addEventListener("beforeprint", () => (isPrinting.value = true));
  addEventListener("afterprint", () => (isPrinting.value = false));
  effect(() => {
    document.documentElement.dataset["theme"] = shownTheme.value;
  });
}

const colourCache = new Map<string, string>();

/** A colour of `colours.css` for a canvas. `light-dark()` resolves only on an element. */
export function canvasColour(name: string): string {
  const key = `${shownTheme.peek()} ${name}`;
  const cached = colourCache.get(key);
  if (cached !== undefined) return cached;
  const probe = document.body.appendChild(document.createElement("span"));
  probe.hidden = true;
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  colourCache.set(key, color);
  return color;
}

function initialTheme(): Theme {
  const requested = new URLSearchParams(location.search).get("theme") ?? storedTheme();
  return THEMES.find((name) => name === requested) ?? "auto";
}

function storedTheme(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

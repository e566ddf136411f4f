/** Light, dark, or what the system says. Kept per browser; `?theme=` in the address wins for this page. */
import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "llm-rum-theme";
const THEMES: readonly Theme[] = ["auto", "light", "dark"];
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(systemDark.matches);

/** Paper is white, whatever the screen is. */
const isPrinting = signal(false);

export const theme = signal<Theme>(firstTheme());
export const shade = computed<"light" | "dark">(() => {
  if (isPrinting.value) return "light";
  if (theme.value !== "auto") return theme.value;
  return systemIsDark.value ? "dark" : "light";
});

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // Storage may be forbidden: the choice then lasts as long as the page.
  }
}

export function startTheme(): void {
  systemDark.addEventListener("change", () => (systemIsDark.value = systemDark.matches));
  addEventListener("beforeprint", () => (isPrinting.value = true));
  addEventListener("afterprint", () => (isPrinting.value = false));
  effect(() => {
    document.documentElement.dataset["theme"] = shade.value;
  });
}

const resolved = new Map<string, string>();

/** A colour of `colours.css` as a canvas takes it. A `light-dark()` has its value only where it colours something. */
export function colourOf(name: string): string {
  const key = `${shade.peek()} ${name}`;
  const known = resolved.get(key);
  if (known !== undefined) return known;
  const sample = document.body.appendChild(document.createElement("span"));
  sample.hidden = true;
  sample.style.color = `var(${name})`;
  const { color } = getComputedStyle(sample);
  sample.remove();
  resolved.set(key, color);
  return color;
}

function firstTheme(): Theme {
  const asked = new URLSearchParams(location.search).get("theme") ?? stored();
  return THEMES.find((name) => name === asked) ?? "auto";
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

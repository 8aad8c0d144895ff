import { effect, signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'leadtap-theme';

const isTheme = (value: unknown): value is Theme => THEMES.some((theme) => theme === value);

/** Storage may be blocked; then the choice lasts until the page is closed. */
function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return isTheme(stored) ? stored : 'system';
  } catch {
    return 'system';
  }
}

export const theme = signal<Theme>(storedTheme());

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
  try {
    if (theme.value === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme.value);
  } catch {
    // See `storedTheme`.
  }
});

export const switchTheme = (): void => {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
};

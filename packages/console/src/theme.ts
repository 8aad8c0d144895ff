import { computed, effect } from '@preact/signals';
import { storedText } from './storage.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const stored = storedText('localStorage', 'leadtap-theme');

export const theme = computed((): Theme => THEMES.find((name) => name === stored.value) ?? 'system');

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
});

export const setTheme = (name: Theme): void => {
  stored.value = name === 'system' ? '' : name;
};

import { effect, type Signal, signal } from '@preact/signals';

/** A text that the browser keeps; empty: nothing is kept. If storage is blocked, it lasts until the page is closed. */
export function storedText(storage: 'localStorage' | 'sessionStorage', key: string): Signal<string> {
  const text = signal('');
  try {
    text.value = window[storage].getItem(key) ?? '';
  } catch {
    // Blocked.
  }
  effect(() => {
    const { value } = text;
    try {
      if (value === '') window[storage].removeItem(key);
      else window[storage].setItem(key, value);
    } catch {
      // Blocked.
    }
  });
  return text;
}

import { signal } from '@preact/signals';

/** The connection whose owed leads are shown. */
export const shownOwed = signal('');

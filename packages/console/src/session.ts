import { computed, signal } from '@preact/signals';
import { type Claims, readClaims } from './claims.ts';
import { startFeed, stopFeed } from './feed.ts';
import { open, place } from './router.ts';
import { lastLimits } from './service.ts';
import { storedText } from './storage.ts';

export interface Session {
  /** In the memory of this page, and in the storage of the tab if the visitor asks for it; never in an address or in a log. */
  readonly token: string;
  readonly claims: Claims;
}

export const session = signal<Session | undefined>(undefined);

/** It is for a form or a program that sends leads. */
export const isWriteOnly = computed(() => {
  const { scopes = [] } = session.value?.claims ?? {};
  return scopes.includes('leads:write') && !scopes.includes('leads:read');
});

/** A tab may visit two services of one origin: each has a token of its own. */
const stored = storedText('sessionStorage', `leadtap-token ${location.pathname}`);

/** Whether the tab keeps the token when the page is loaded again. */
export const isKept = signal(stored.peek() !== '');

const store = (): void => {
  stored.value = (isKept.value && session.value?.token) || '';
};

export const setKept = (value: boolean): void => {
  isKept.value = value;
  store();
};

/** With the token that the tab has kept. */
export const reconnect = (): void => {
  if (isKept.value) connect(stored.value);
};

/** The history of the browser notes that there was a token, not which: after a reload the page can say why it asks again. */
interface HistoryState {
  readonly hadToken?: boolean;
}

const historyState = (): HistoryState => (history.state as HistoryState | null) ?? {};

/** Whether this page had a token before it was loaded again. */
export const isReloaded = signal(historyState().hadToken === true);

/** People paste what they have: with quotes, with `Bearer`, in several lines. */
export const cleanToken = (pasted: string): string =>
  pasted
    .replace(/["'`]/g, '')
    .trim()
    .replace(/^(authorization\s*:\s*)?(bearer\s+)?/i, '')
    .replace(/\s/g, '');

export function connect(pasted: string): void {
  const token = cleanToken(pasted);
  lastLimits.value = undefined;
  session.value = { token, claims: readClaims(token) };
  store();
  isReloaded.value = false;
  history.replaceState({ ...historyState(), hadToken: true }, '');
  startFeed(token);
}

export function disconnect(): void {
  stopFeed();
  session.value = undefined;
  setKept(false);
  lastLimits.value = undefined;
  history.replaceState({ ...historyState(), hadToken: false }, '');
  // An opened lead belongs to the token.
  open(place.value.tab, '', 'replace');
}

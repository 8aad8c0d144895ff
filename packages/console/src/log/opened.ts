/** Which log the address has: `consumers/ID?show=failed`, or `consumers/ID?lead=TIME`. */
import { computed } from '@preact/signals';
import { open, place } from '../router.ts';

const ITEM = /^((?:consumers|senders)\/[^/?]+)(?:\?(.*))?$/;

const parts = computed(() => (place.value.tab === 'overview' && ITEM.exec(place.value.item)) || []);

/** `consumers/ID` or `senders/ID`; empty: none. */
export const openedLog = computed(() => parts.value[1] ?? '');

const parameters = computed(() => new URLSearchParams(parts.value[2]));

export const SHOWN = { all: 'All', leads: 'With leads', failed: 'Failed' } as const;
export type Shown = keyof typeof SHOWN;

export const shown = computed((): Shown => {
  const show = parameters.value.get('show') ?? '';
  return show === 'leads' || show === 'failed' ? show : 'all';
});

/** When the lead was created whose entry is looked for. */
export const wantedLead = computed(() => parameters.value.get('lead'));

export const show = (what: Shown): void =>
  open('overview', openedLog.peek() + (what === 'all' ? '' : `?show=${what}`), 'replace');

/** Which log the address of the Overview has: `ID`, or `ID?lead=ID`. */
import { computed } from '@preact/signals';
import { hrefOf, place } from '../router.ts';

const parts = computed(() => (place.value.tab === 'overview' ? place.value.item.split('?') : []));

/** The id of a connection; empty: none. */
export const openedLog = computed(() => parts.value[0] ?? '');

/** The id of the lead whose entry is looked for. */
export const wantedLead = computed(() => new URLSearchParams(parts.value[1]).get('lead'));

export const logHref = (id: string): string => hrefOf('overview', id);

/** With the entry unfolded that has the lead. */
export const logHrefOfLead = (id: string, leadId: string): string =>
  hrefOf('overview', `${id}?lead=${encodeURIComponent(leadId)}`);

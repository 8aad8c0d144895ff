/** Which leads the list shows, and which one is opened. */
import type { Lead } from '@leadtap/client';
import { batch, computed, effect, signal } from '@preact/signals';
import { arrivedCount, leads } from '../feed.ts';
import { place } from '../router.ts';

export const FILTER_ID = 'lead-filter';

/** What the visitor has typed. */
export const filterText = signal('');
/** The value of a status; empty for all. */
export const filterStatus = signal('');

/** The loaded leads, and how many had arrived, when the list was last at its top. */
const listed = signal<readonly Lead[]>([]);
const seenCount = signal(0);

/** Leads that wait above a list that is scrolled: inserting them would move what the visitor reads. */
export const waitingCount = computed(() => Math.max(0, arrivedCount.value - seenCount.value));

/** Shows the leads that wait. */
export const showAll = (): void =>
  batch(() => {
    listed.value = leads.value;
    seenCount.value = arrivedCount.value;
  });

// Leads are removed from memory when the token is forgotten, and those of another token replace them.
effect(() => {
  if (arrivedCount.value === 0) showAll();
});

/** The text that a filter searches, made once for each lead. */
const searchTexts = new WeakMap<Lead, string>();

function searchTextOf(lead: Lead): string {
  const known = searchTexts.get(lead);
  if (known !== undefined) return known;
  const { status, customFields, images: _images, sameDay: _sameDay, ...texts } = lead;
  const parts = [...Object.values(texts), status.label, JSON.stringify(customFields)];
  const text = parts
    .filter((part) => part !== null)
    .join('\n')
    .toLowerCase();
  searchTexts.set(lead, text);
  return text;
}

/** Every word must occur somewhere in the lead. */
export const shownLeads = computed((): readonly Lead[] => {
  const words = filterText.value.toLowerCase().split(/\s+/).filter(Boolean);
  const status = filterStatus.value;
  const candidates = listed.value;
  if (words.length === 0 && status === '') return candidates;
  return candidates.filter(
    (lead) =>
      (status === '' || lead.statusValue === status) &&
      words.every((word) => searchTextOf(lead).includes(word)),
  );
});

/** The statuses of the loaded leads, by value. */
export const statuses = computed(() => new Map(leads.value.map(({ status }) => [status.value, status])));

/** The opened lead stays when so many have arrived that it is no longer among the loaded ones. */
let opened: Lead | undefined;
export const openedLead = computed((): Lead | undefined => {
  const { item } = place.value;
  const loaded = leads.value.find(({ automation_trigger_id }) => automation_trigger_id === item);
  const isKept = leads.value.length > 0 && opened?.automation_trigger_id === item;
  opened = loaded ?? (isKept ? opened : undefined);
  return opened;
});

export const clearFilter = (): void =>
  batch(() => {
    filterText.value = '';
    filterStatus.value = '';
  });

/** Which leads the list shows, and which one is opened. */
import type { Lead } from '@leadtap/client';
import { computed, signal } from '@preact/signals';
import { arrivedCount, leads } from '../feed.ts';
import { place } from '../router.ts';

/** What the visitor has typed. */
export const filterText = signal('');
/** The value of a status; empty for all. */
export const filterStatus = signal('');

/** How many leads had arrived when the list was last at its top. */
const seenCount = signal(0);

/** Leads that wait above a list that is scrolled: inserting them would move what the visitor reads. */
export const waitingCount = computed(() => Math.max(0, arrivedCount.value - seenCount.value));

/** Shows the leads that wait. */
export const showAll = (): void => {
  seenCount.value = arrivedCount.value;
};

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
  const candidates = leads.value.slice(waitingCount.value);
  if (words.length === 0 && status === '') return candidates;
  return candidates.filter(
    (lead) =>
      (status === '' || lead.statusValue === status) &&
      words.every((word) => searchTextOf(lead).includes(word)),
  );
});

/** The statuses of the loaded leads, by value. */
export const statuses = computed(() => new Map(leads.value.map(({ status }) => [status.value, status])));

export const openedLead = computed(() =>
  leads.value.find(({ automation_trigger_id }) => automation_trigger_id === place.value.item),
);

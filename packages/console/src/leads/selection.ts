/** Which of the loaded leads the list shows, and which one is opened. */
import type { Lead, LeadtapError } from '@leadtap/client';
import { batch, computed, effect, signal } from '@preact/signals';
import { feedState, leads } from '../feed.ts';
import { open, place } from '../router.ts';
import { toLeadtapError } from '../service.ts';
import { day, loadedLeads, loadUntil, pollAt, showNewest } from './history.ts';
import { timeOf } from './read-back.ts';

export const FILTER_ID = 'lead-filter';

/** What the visitor has typed. */
export const filterText = signal('');
/** The value of a status; empty for all. */
export const filterStatus = signal('');
export const isFiltered = computed(() => filterText.value.trim() !== '' || filterStatus.value !== '');

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
  if (!isFiltered.value) return loadedLeads.value;
  const words = filterText.value.toLowerCase().split(/\s+/).filter(Boolean);
  const status = filterStatus.value;
  return loadedLeads.value.filter(
    (lead) =>
      (status === '' || lead.statusValue === status) &&
      words.every((word) => searchTextOf(lead).includes(word)),
  );
});

/** The statuses of the loaded leads, by value. */
export const statuses = computed(
  () => new Map(loadedLeads.value.map(({ status }) => [status.value, status])),
);

export const clearFilter = (): void =>
  batch(() => {
    filterText.value = '';
    filterStatus.value = '';
  });

/** A search that has found so many more leads stops: they fill a screen. */
const ENOUGH = 25;

/** Loads older leads, in search of those that match the filter. */
export function searchBack(): void {
  const found = shownLeads.peek().length;
  void loadUntil('search', () => !isFiltered.peek() || shownLeads.peek().length >= found + ENOUGH);
}

/** What an address has for a lead. With its time, one request finds it. */
export const itemOf = ({ automation_trigger_id, createdAt }: Lead): string =>
  `${automation_trigger_id}@${createdAt}`;

const TIME = /@(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/;

export const openedId = computed(() =>
  place.value.tab === 'leads' ? place.value.item.replace(TIME, '') : '',
);

/** An opened lead that was not among the newest ones. */
interface LinkedLead {
  readonly id: string;
  /** `asked`: one request asks for it; `searched`: older leads are loaded; `missing`: the token sees no such lead. */
  readonly state: 'asked' | 'searched' | 'found' | 'missing' | 'failed';
  readonly lead?: Lead;
  readonly error?: LeadtapError;
}

export const linked = signal<LinkedLead | undefined>(undefined);

const findLead = (list: readonly Lead[], id: string): Lead | undefined =>
  list.find(({ automation_trigger_id }) => automation_trigger_id === id);

/** The opened lead stays when so many have arrived that it is no longer among the loaded ones. */
let opened: Lead | undefined;
export const openedLead = computed((): Lead | undefined => {
  const { value: id } = openedId;
  const isKept = leads.value.length > 0 && opened?.automation_trigger_id === id;
  opened =
    findLead(leads.value, id) ??
    findLead(day.value?.leads ?? [], id) ??
    (linked.value?.id === id ? linked.value.lead : undefined) ??
    (isKept ? opened : undefined);
  return opened;
});

// A lead of another day does not belong to the list of a chosen one.
export const chosenStart = computed(() => day.value?.start);
effect(() => {
  if (chosenStart.value === undefined) return;
  const { start = 0, end = 0 } = day.peek() ?? {};
  const lead = openedLead.peek();
  if (lead && (timeOf(lead) < start || timeOf(lead) >= end)) open('leads', '', 'replace');
});

/** Finds the lead of the address: with one request if the time of the lead is known, else from the newest leads on back. */
export async function findLinked(): Promise<void> {
  const id = openedId.peek();
  const [, createdAt] = TIME.exec(place.peek().item) ?? [];
  linked.value = { id, state: createdAt === undefined ? 'searched' : 'asked' };
  if (createdAt === undefined) {
    showNewest();
    return loadUntil('link', () => openedId.peek() !== id || openedLead.peek() !== undefined);
  }
  const found = await askFor(id, createdAt);
  if (linked.peek()?.id === id) linked.value = { id, ...found };
}

async function askFor(id: string, createdAt: string): Promise<Omit<LinkedLead, 'id'>> {
  try {
    // `createdAt` is unique, so that it is the first lead after the millisecond before.
    const page = await pollAt({ since: new Date(Date.parse(createdAt) - 1), limit: 1 });
    const lead = findLead(page.leads, id);
    return lead ? { state: 'found', lead } : { state: 'missing' };
  } catch (thrown) {
    return { state: 'failed', error: toLeadtapError(thrown) };
  }
}

effect(() => {
  const { kind } = feedState.value;
  if (kind === 'off') linked.value = undefined;
  const { value: id } = openedId;
  if (kind === 'live' && id !== '' && !openedLead.value && linked.peek()?.id !== id) void findLinked();
});

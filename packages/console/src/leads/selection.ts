/** Which of the loaded leads the list shows, and which one is opened. */
import type { Lead, LeadtapError } from '@leadtap/client';
import { foldText } from '@leadtap/contract';
import { batch, computed, effect, signal } from '@preact/signals';
import { clock } from '../clock.ts';
import { feedState, leads } from '../feed.ts';
import { open, place } from '../router.ts';
import { toLeadtapError } from '../service.ts';
import { findLeads, timeOf } from './find.ts';
import { day, filterText, listed, loadedLeads, search, view } from './history.ts';

export const FILTER_ID = 'lead-filter';

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
  const text = foldText(parts.filter((part) => part !== null).join('\n'));
  searchTexts.set(lead, text);
  return text;
}

/** Of what is loaded: every word occurs somewhere in the lead. */
function filterLoaded(): readonly Lead[] {
  const words = foldText(filterText.value).split(/\s+/).filter(Boolean);
  if (words.length === 0) return loadedLeads.value;
  const loaded = day.value ? loadedLeads.value : listed.value;
  return loaded.filter((lead) => words.every((word) => searchTextOf(lead).includes(word)));
}

/** With a text: the loaded leads with all of its words, and those that the service has found. */
export const shownLeads = computed((): readonly Lead[] => {
  const filtered = filterLoaded();
  const found = view.value?.text === filterText.value.trim() ? view.value.leads : [];
  const all = new Map([...filtered, ...found].map((lead) => [lead.automation_trigger_id, lead]));
  const status = filterStatus.value;
  if (all.size === filtered.length && status === '') return filtered;
  return [...all.values()]
    .filter((lead) => status === '' || lead.statusValue === status)
    .sort((a, b) => timeOf(b) - timeOf(a));
});

/** The statuses of the loaded leads, by value. */
export const statuses = computed(
  () => new Map(loadedLeads.value.map(({ status }) => [status.value, status])),
);

export const clearFilter = (): void =>
  batch(() => {
    search('');
    filterStatus.value = '';
  });

/** What an address has for a lead. With its time, one request finds it. */
export const itemOf = ({ automation_trigger_id, createdAt }: Lead): string =>
  `${automation_trigger_id}@${createdAt}`;

const DAY_MS = 86_400_000;
const TIME = /@(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/;

export const openedId = computed(() =>
  place.value.tab === 'leads' ? place.value.item.replace(TIME, '') : '',
);

/** An opened lead that was not among the newest ones. */
interface LinkedLead {
  readonly id: string;
  /** `missing`: the token sees no such lead. */
  readonly state: 'asked' | 'found' | 'missing' | 'failed';
  readonly lead?: Lead;
  readonly error?: LeadtapError;
}

export const linked = signal<LinkedLead | undefined>(undefined);

/** A log has the ids of leads alone. */
const findLead = (list: readonly Lead[], id: string): Lead | undefined =>
  list.find((lead) => lead.automation_trigger_id === id || lead.id === id);

/** The opened lead stays when so many have arrived that it is no longer among the loaded ones. */
let opened: Lead | undefined;
export const openedLead = computed((): Lead | undefined => {
  const { value: id } = openedId;
  const isKept = leads.value.length > 0 && opened?.automation_trigger_id === id;
  opened =
    findLead(leads.value, id) ??
    findLead(view.value?.leads ?? [], id) ??
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

/** Finds the lead of the address with one request: by its time, or by its id alone. */
export async function findLinked(): Promise<void> {
  const id = openedId.peek();
  const [, createdAt] = TIME.exec(place.peek().item) ?? [];
  linked.value = { id, state: 'asked' };
  const found = await askFor(id, createdAt);
  if (linked.peek()?.id === id) linked.value = { id, ...found };
}

async function askFor(id: string, createdAt: string | undefined): Promise<Omit<LinkedLead, 'id'>> {
  try {
    const found = await findLeads(
      createdAt === undefined
        ? { before: clock() + DAY_MS, text: id, limit: 10 }
        : // `createdAt` is unique, so that it is the first lead before the millisecond after.
          { before: Date.parse(createdAt) + 1, limit: 1 },
    );
    const lead = findLead(found.leads, id);
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

import type { Communication } from './app.ts';
import { evaluate, evaluateText, type Variables } from './iml.ts';
import { type Answer, send } from './request.ts';

/** What Make remembers of a trigger from one run to the next. */
export interface TriggerData {
  /** Empty until a start was chosen. */
  readonly lastDate: string;
}

export interface Item {
  readonly date: string;
  readonly id: string;
  readonly bundle: unknown;
}

/** Make asks for at most this many pages beside the first one, and takes no more than this many items. */
const MAX_FURTHER_PAGES = 50;
const MAX_ITEMS = 3200;

/**
 * When Make stops asking for pages. It documents `limit`: as soon as it has that many. `end` goes on to the last page, and then
 * gives the oldest; a trigger that is right in both ways does not depend on it.
 */
export type ReadsUntil = 'limit' | 'end';

/** All items of as many pages as Make asks for, in the order in which they came. */
export async function readItems(
  communication: Communication,
  variables: Variables,
  readsUntil: ReadsUntil,
): Promise<Item[]> {
  const { url = '', pagination, response = {} } = communication;
  const limit = response.limit === undefined ? Number.POSITIVE_INFINITY : limitOf(response.limit, variables);
  const enough = readsUntil === 'limit' ? limit : MAX_ITEMS;
  const items: Item[] = [];
  let next: string | undefined = url;
  let seen = variables;
  for (let page = 0; next !== undefined && page <= MAX_FURTHER_PAGES && items.length < enough; page += 1) {
    const answer = await send(communication, next, seen);
    const container = containerOf(communication, answer, variables);
    const passed = container.filter((item) => passes(communication, item, variables));
    items.push(...passed.map((item) => itemOf(communication, item, variables)));
    seen = {
      ...variables,
      ...answer,
      iterate: { container: { first: container[0], last: container.at(-1) } },
    };
    const goesOn = container.length > 0 && pagination && evaluate(pagination.condition, seen);
    next = goesOn ? pagination.url : undefined;
  }
  return items;
}

/** Of a trigger. A module of the type search has none. */
const limitOf = (limit: string | number, variables: Variables): number =>
  Math.min(Number(evaluate(limit, variables)), MAX_ITEMS);

function passes({ response = {} }: Communication, item: unknown, variables: Variables): boolean {
  const { iterate } = response;
  return typeof iterate !== 'object' || evaluate(iterate.condition, { ...variables, item }) === true;
}

function containerOf({ response = {} }: Communication, answer: Answer, variables: Variables): unknown[] {
  const { iterate } = response;
  const path = typeof iterate === 'object' ? iterate.container : iterate;
  const container = evaluate(path, { ...variables, ...answer });
  if (Array.isArray(container)) return container;
  throw new Error('iterate does not lead to an array');
}

function itemOf({ response = {} }: Communication, item: unknown, variables: Variables): Item {
  const seen = { ...variables, item };
  return {
    date: evaluateText(response.trigger?.date, seen),
    id: evaluateText(response.trigger?.id, seen),
    bundle: evaluate(response.output, seen),
  };
}

/** What a run gives: the items that were not processed yet, sorted by date and id, no more than the limit. */
export async function poll(
  communication: Communication,
  variables: Variables & { readonly data: TriggerData },
  readsUntil: ReadsUntil,
): Promise<{ readonly items: readonly Item[]; readonly data: TriggerData }> {
  const { lastDate } = variables.data;
  const last = lastDate ? Date.parse(lastDate) : Number.NEGATIVE_INFINITY;
  const read = await readItems(communication, variables, readsUntil);
  checkOrder(read, communication.response?.trigger?.order);
  const limit = Number(evaluate(communication.response?.limit, variables));
  const items = read
    .filter(({ date }) => Date.parse(date) > last)
    .sort((a, b) => Date.parse(a.date) - Date.parse(b.date) || (a.id < b.id ? -1 : 1))
    .slice(0, limit);
  return { items, data: { lastDate: items.at(-1)?.date ?? lastDate } };
}

/** Make decides by the declared order whether there is more to fetch, so it must be the order in which items come. */
function checkOrder(items: readonly Item[], order: 'asc' | 'desc' | undefined): void {
  const dates = items.map(({ date }) => Date.parse(date));
  const sign = order === 'desc' ? -1 : 1;
  const isOrdered = dates.every((date, index) => index === 0 || sign * (date - (dates[index - 1] ?? 0)) > 0);
  if (!isOrdered) throw new Error(`the items do not come in the order that the trigger declares: ${order}`);
}

/**
 * Sends the leads of one claim to a hook that sends leads: one request after the other, each begun when the last one was accepted. The
 * leads of a request are read just before it, so that nothing is sent that the user may not see at that moment.
 */
import { MAX_LEADS_PER_PAGE } from '@leadtap/contract';
import type { LeadRecord } from '../leads/record.ts';
import { renderLead } from '../leads/render.ts';
import type { Delivery } from './deliver.ts';
import { type EventOptions, leadMessage, leadsMessage, postMessage } from './event.ts';
import type { Outcome, SentLeads } from './rules.ts';
import type { DueHook, HookStore } from './store.ts';

export interface LeadSenderOptions extends EventOptions {
  readonly store: Pick<HookStore, 'readLeads' | 'settle'>;
  readonly delivery: Delivery;
  /** Whether a request may begin: it has to end before the claim does. */
  readonly mayBegin: () => boolean;
  /** Waits until the company may have so many more bytes in flight, or no request may begin any more. */
  readonly reserve: (bytes: number) => Promise<void>;
  /** So many they are. */
  readonly hold: (bytes: number) => void;
  readonly onOutcome: (outcome: Outcome) => void;
}

/** In one claim. A hook is claimed once a second at most. */
const MAX_REQUESTS = { event: 0, leads: 1, lead: 10 };
/** Of the leads in a request. A single lead is sent whatever its length. */
const MAX_LEADS_BYTES = 1_000_000;
/** Read first: their length shows how many fit. 100 leads of 64 kB would take long to read. */
const FEW_LEADS = 16;

export async function sendLeads(due: DueHook, options: LeadSenderOptions): Promise<SentLeads> {
  const { hook } = due;
  let sent: SentLeads = {
    acceptedThrough: hook.announcedThrough,
    attemptedThrough: hook.attemptedThrough,
    result: { kind: 'no-place' },
  };
  for (let begun = 0; begun < MAX_REQUESTS[hook.send]; begun += 1) {
    await options.reserve(MAX_LEADS_BYTES);
    if (!options.mayBegin()) return sent;
    const page = await readPage(due, sent.acceptedThrough, options.store);
    if (!page) return begun === 0 ? { ...sent, result: { kind: 'nothing' } } : sent;
    const attemptedThrough = page.through;
    if (!options.mayBegin()) return sent;
    const outcome = await postPage(due, page, options);
    if (outcome === 'aborted') return { ...sent, attemptedThrough };
    options.onOutcome(outcome);
    if (outcome.kind !== 'accepted') return { ...sent, attemptedThrough, result: outcome };
    // Not `through`: leads after the last one are hidden from the user now, and are sent if they become visible again.
    const { createdAt: acceptedThrough } = page.leads.at(-1) ?? page.leads[0];
    sent = { acceptedThrough, attemptedThrough, result: outcome };
  }
  return sent;
}

/** The leads of one request: those after `since`, up to `through`, that the user may see. */
interface LeadPage {
  readonly since: number;
  readonly through: number;
  readonly leads: readonly [LeadRecord, ...LeadRecord[]];
}

async function readPage(
  due: DueHook,
  since: number,
  store: LeadSenderOptions['store'],
): Promise<LeadPage | undefined> {
  const { hook, claimedAt } = due;
  if (hook.send === 'lead') {
    const [lead] = await store.readLeads({ hook, after: since, through: due.through, limit: 1 });
    return lead && { since, through: lead.createdAt, leads: [lead] };
  }
  const readThrough = async (
    through: number,
    maxLeads: number,
    maxBytes: number,
  ): Promise<LeadPage | undefined> => {
    const leads = await store.readLeads({ hook, after: since, through, limit: maxLeads + 1 });
    const [first, ...rest] = leads.slice(0, lengthOfPage(leads.slice(0, maxLeads), maxBytes));
    if (!first) return undefined;
    const last = rest.at(-1) ?? first;
    // Its end decides about the id, so it stays the same if later leads of the range are deleted or hidden.
    const isWhole = 1 + rest.length === leads.length;
    return { since, through: isWhole ? through : last.createdAt, leads: [first, ...rest] };
  };
  // A repetition is the same request, although its leads may be longer now.
  const isRepetition = hook.attemptedThrough === due.through;
  const maxBytes = isRepetition ? Number.POSITIVE_INFINITY : MAX_LEADS_BYTES;
  let page = await readThrough(due.through, isRepetition ? MAX_LEADS_PER_PAGE : FEW_LEADS, maxBytes);
  if (page?.leads.length === FEW_LEADS && page.through < due.through) {
    const fitting = Math.floor((FEW_LEADS * maxBytes) / bytesOf(page.leads));
    if (fitting > FEW_LEADS)
      page = await readThrough(due.through, Math.min(fitting, MAX_LEADS_PER_PAGE), maxBytes);
  }
  if (!page || page.through === due.through) return page;
  // Stored before the request, so that a repetition has the same end and the same id, whatever is deleted meanwhile.
  const progress = { ...hook, attemptedThrough: page.through, lastEventAt: claimedAt };
  await store.settle([{ claimed: hook, progress }]);
  return readThrough(page.through, page.leads.length, Number.POSITIVE_INFINITY);
}

function lengthOfPage(leads: readonly LeadRecord[], maxBytes: number): number {
  let bytes = 0;
  const end = leads.findIndex((lead, index) => {
    bytes += bytesOf([lead]);
    return index > 0 && bytes > maxBytes;
  });
  return end < 0 ? leads.length : end;
}

const bytesOf = (leads: readonly LeadRecord[]): number =>
  leads.reduce((bytes, lead) => bytes + Buffer.byteLength(renderLead(lead)), 0);

function postPage(
  due: DueHook,
  { leads, ...window }: LeadPage,
  options: LeadSenderOptions,
): Promise<Outcome | 'aborted'> {
  const { hook, claimedAt } = due;
  const message =
    hook.send === 'lead' ? leadMessage(hook, leads[0]) : leadsMessage(hook, window, leads, claimedAt);
  options.hold(message.body.length);
  return postMessage(options.delivery, due, message, options).catch(() => ({ kind: 'unreachable' }));
}

/** `GET {base_url}/automation/senders`: who sends leads, and the diagnosis of each. */
import { SENDERS_PATH, type Senders, type Sender as WireSender } from '@leadtap/contract';
import { type CallerEndpoint, READ_METHODS, type RefusalObserver } from '../http/endpoint.ts';
import { type Exchange, jsonPayload } from '../http/exchange.ts';
import {
  type Accounts,
  type Caller,
  createIdentification,
  type IdentificationOptions,
} from '../http/identify.ts';
import type { PollingUser } from '../leads/access.ts';
import { systemClock, toIso } from '../lib/clock.ts';
import type { FairQueue } from '../lib/fair.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Facts, SenderProblem, SenderStatus } from './report.ts';
import { describeSender } from './sender-problems.ts';
import { readSenders, type SenderSelection, type SenderSources } from './senders.ts';
import { agoOf } from './sentences.ts';

export interface SendersEndpointOptions extends IdentificationOptions, RefusalObserver {
  readonly store: SenderSources;
  readonly accounts: Accounts;
  /** The limiter of polls: both count together. */
  readonly limiter: Limiter;
  readonly queue: FairQueue;
  /** Writes the requests of the user that are in memory, so that a sender is listed at once. */
  readonly flushUser: (userId: string) => Promise<void>;
}

export function createSendersEndpoint(options: SendersEndpointOptions): CallerEndpoint {
  const { store, flushUser, observeRefusal, clock = systemClock } = options;

  async function list(exchange: Exchange, { user }: Caller) {
    await flushUser(user.id);
    const now = clock();
    const { listed } = await readSenders(store, () => now, senderSelectionOf(user));
    const moment = { generatedAt: toIso(now) };
    const senders = listed.map((sender) => toWire(sender, moment));
    return jsonPayload(exchange, 200, { senders } satisfies Senders);
  }

  return {
    path: SENDERS_PATH,
    methods: READ_METHODS,
    callers: createIdentification({ ...options, scope: 'leads:read' }),
    queue: options.queue,
    answer: list,
    observe: ({ problem }) => observeRefusal?.(problem?.parts.violatedPolicies ?? []),
  };
}

/** The senders that a user may see. */
export const senderSelectionOf = ({ id, accessLevel, companyId }: PollingUser): SenderSelection =>
  accessLevel === 'COMPANY' ? { companyId } : { userId: id, ownCompanyId: companyId };

function toWire(sender: SenderStatus, moment: Pick<Facts, 'generatedAt'>): WireSender {
  const { id, name, tokenId, source, lastRequestAt, lastAcceptedAt, lastRefusal } = sender;
  const { accepted30d, refused30d, last24h } = sender;
  return {
    ...{ id, name, tokenId, source, lastRequestAt, lastAcceptedAt },
    lastRefusal: lastRefusal && { ...lastRefusal, fields: [...lastRefusal.fields] },
    ...{ accepted30d, refused30d },
    last24h: [...last24h],
    ...stateOf(sender, moment),
  };
}

const WARNINGS: readonly SenderProblem[] = ['leads-replaced', 'intake-off', 'senders-expiring'];

/** In words. */
export function stateOf(
  sender: SenderStatus,
  moment: Pick<Facts, 'generatedAt'>,
  fixFor: 'user' | 'operator' = 'user',
): Pick<WireSender, 'level' | 'message' | 'fix'> {
  const found = describeSender(sender, moment);
  if (found) {
    const level = sender.problems.every((problem) => WARNINGS.includes(problem)) ? 'warning' : 'error';
    return { level, message: found.row, fix: fixFor === 'user' ? found.userFix : found.fix };
  }
  const { lastAcceptedAt, isRevoked, isInUse } = sender;
  const lead = lastAcceptedAt === null ? 'no lead yet' : `last lead ${agoOf(moment, lastAcceptedAt)}`;
  if (isRevoked) return { level: 'inactive', message: `its token was revoked; ${lead}`, fix: null };
  if (!isInUse) return { level: 'inactive', message: lead, fix: null };
  return { level: lastAcceptedAt === null ? 'unknown' : 'good', message: lead, fix: null };
}

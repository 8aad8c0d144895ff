/** `GET {base_url}/automation/senders`: who sends leads, and the diagnosis of each. */
import { SENDERS_PATH, type Senders, type Sender as WireSender } from '@leadtap/contract';
import type { CallerEndpoint } from '../http/endpoint.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Caller } from '../http/identify.ts';
import { createReadEndpoint, type ReadEndpointOptions } from '../http/read-endpoint.ts';
import type { PollingUser } from '../leads/access.ts';
import { systemClock, toIso } from '../lib/clock.ts';
import { mapInSlices } from '../lib/event-loop.ts';
import type { Facts, SenderProblem, SenderStatus } from './report.ts';
import { describeSender } from './sender-problems.ts';
import { readSenders, type SenderSelection, type SenderSources } from './senders.ts';
import { agoOf } from './sentences.ts';

export interface SendersEndpointOptions extends ReadEndpointOptions {
  readonly sources: SenderSources;
}

export function createSendersEndpoint(options: SendersEndpointOptions): CallerEndpoint {
  const { sources, clock = systemClock } = options;

  async function list(_exchange: Exchange, { user }: Caller): Promise<Senders> {
    const now = clock();
    const { listed } = await readSenders(sources, () => now, senderSelectionOf(user));
    const moment = { generatedAt: toIso(now) };
    return { senders: await mapInSlices(listed, (sender) => toWire(sender, moment), user.companyId) };
  }

  return createReadEndpoint(SENDERS_PATH, options, list);
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

const WARNINGS: readonly SenderProblem[] = ['intake-off', 'senders-expiring'];

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

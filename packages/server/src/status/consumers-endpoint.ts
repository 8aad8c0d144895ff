/** `GET {base_url}/automation/consumers`: the consumers of the user of the token, and the diagnosis of each. */
import { CONSUMERS_PATH, type Consumers, type Consumer as WireConsumer } from '@leadtap/contract';
import { tokenKeyOf } from '../accounts/token-key.ts';
import { isSameConsumer } from '../consumers/store.ts';
import type { CallerEndpoint } from '../http/endpoint.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Caller } from '../http/identify.ts';
import { createReadEndpoint, type ReadEndpointOptions } from '../http/read-endpoint.ts';
import { systemClock, toIso } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import {
  type ConsumerSources,
  leadHookOf,
  listedConsumerPages,
  receivedKeyOf,
  toGapsJson,
} from './consumer-states.ts';
import { addTo, judge, MIN_BEHIND_MS, noCounts, readRemoved, toStatus } from './consumers.ts';
import { toViewerSource, type ViewerSource } from './coverage-pieces.ts';
import type { InstanceMemory } from './instance.ts';
import { readUserCoverage } from './lead-coverage.ts';
import type { ConsumersStatus } from './report.ts';
import { diagnoseRow } from './row-diagnosis.ts';
import { conclude } from './rules.ts';
import { countOf, hostOf, inSentence, MAX_PENDING_LEADS, nameOf } from './sentences.ts';

/** Newest leads of imported history for which it is said who has them. */
const MAX_HISTORY = 100;

export interface ConsumersEndpointOptions extends ReadEndpointOptions {
  readonly store: Pick<Store, 'countLeadsInRanges' | 'organisation' | 'readPage'>;
  readonly sources: ConsumerSources;
  readonly staleAfterMs?: number | undefined;
  /** Knows the codes of refused polls. */
  readonly instance: Pick<InstanceMemory, 'read'>;
}

export function createConsumersEndpoint(options: ConsumersEndpointOptions): CallerEndpoint {
  const { store, sources, staleAfterMs, instance, clock = systemClock } = options;

  async function list(_exchange: Exchange, { token, user }: Caller): Promise<Consumers> {
    const { tokenId } = tokenKeyOf(token);
    const now = clock();
    const { hookHosts } = sources;
    const moment = { generatedAt: toIso(now), refusals: instance.read().refusals, hookHosts };
    const counts = noCounts();
    const consumers: WireConsumer[] = [];
    const viewers: ViewerSource[] = [];
    const query = { userId: user.id, maxPendingLeads: MAX_PENDING_LEADS, now };
    const history = await sources.consumers.findReceivedHistory(user, MAX_HISTORY);
    for await (const page of listedConsumerPages(sources, query))
      for (const listed of page) {
        const judged = judge(listed, now, staleAfterMs);
        addTo(counts, judged);
        viewers.push(toViewerSource(judged, now));
        const status = toStatus(judged, now, staleAfterMs);
        consumers.push({
          id: status.key,
          name: status.name,
          tokenId: status.tokenId,
          isThisToken: status.tokenId === tokenId,
          ...diagnoseRow(status, moment, 'user'),
          firstPollAt: status.firstPollAt,
          lastPollAt: status.lastPollAt,
          lastStatus: status.lastStatus,
          usualIntervalS:
            status.usualIntervalSeconds === null ? null : Math.round(status.usualIntervalSeconds),
          state: status.state,
          confirmedThrough: status.confirmedThrough,
          deliveredThrough: status.deliveredThrough,
          pendingLeads: status.pendingLeads,
          pendingSince: status.pendingSince,
          gaps: toGapsJson(listed),
          receivedHistory: history
            .filter((one) => isSameConsumer(one, receivedKeyOf(listed)))
            .map(({ createdAt }) => toIso(createdAt)),
          skippedLeads: status.skippedLeads,
          skippedSince: status.skippedSince,
          tokenEnded: status.tokenEnded,
          isAwaited: status.isAwaited,
          last24h: status.last24h,
          hook: status.hook && { ...status.hook, id: leadHookOf(listed)?.id ?? null },
        });
      }
    const removed = await readRemoved(sources, { userId: user.id, now });
    counts.removed = removed.length;
    viewers.push(...removed);
    const coverage = await readUserCoverage(store, user, viewers, now);
    consumers.sort((a, b) => rankOf(a, now) - rankOf(b, now));
    const summary = summarize(consumers, { ...counts, coverage }, now, staleAfterMs);
    return { summary, consumers };
  }

  return createReadEndpoint(CONSUMERS_PATH, options, list);
}

/** Those with a problem first, then those behind, so that one of hundreds is seen. */
function rankOf({ level, pendingSince }: WireConsumer, now: number): number {
  const rank = level === 'error' ? 0 : level === 'warning' ? 1 : 2;
  const isBehind = pendingSince !== null && now - Date.parse(pendingSince) > MIN_BEHIND_MS;
  return rank + (isBehind && level !== 'inactive' ? 0 : 0.5);
}

const LEVELS: readonly WireConsumer['level'][] = ['error', 'warning', 'unknown'];

/** The most urgent problem, or what the diagnosis concludes from the rows. */
function summarize(
  rows: readonly WireConsumer[],
  counts: ConsumersStatus,
  now: number,
  staleAfterMs: number | undefined,
): Consumers['summary'] {
  const urgent = rows
    .filter(({ problem }) => problem !== null)
    .sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
  const [first] = urgent;
  if (first) {
    const others = urgent.slice(1).filter(({ level }) => level === 'error' || level === 'warning').length;
    const more = others === 0 ? '' : ` ${countOf(others, 'more needs', 'more need')} attention.`;
    return { level: first.level, message: `${inSentence(nameOf(first))}: ${first.message}.${more}` };
  }
  const { good, note } = conclude({ consumers: counts, problems: [], now, staleAfterMs, isOfUser: true });
  if (good !== null) return { level: 'good', message: good };
  if (note !== null && counts.active > 0) return { level: 'unknown', message: note };
  if (rows.some((row) => hostOf(row) !== null && row.state === 'subscribed'))
    return { level: 'unknown', message: 'Your webhooks have accepted no lead yet.' };
  return {
    level: 'unknown',
    message: `Nothing polls ${counts.inactive + counts.removed === 0 ? 'yet' : 'at present'} with your tokens.`,
  };
}

import { join } from 'node:path';
import { storeConformance } from '@leadtap/store-conformance';
import {
  type Clock,
  type HookStore,
  type IssuedToken,
  type LeadInput,
  type LeadListQuery,
  type LeadScope,
  openSqliteStore,
  type PageQuery,
  type Store,
  type VerifiedToken,
  type WriteOptions,
} from 'leadtap';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { DelegatingStore } from './delegating-store.ts';
import { NaiveStore } from './naive-store.ts';

type Open = (file: string, clock: Clock) => Promise<Store>;

const broken =
  (Broken: new (inner: Store) => Store): Open =>
  async (file, clock) =>
    new Broken(await openSqliteStore({ file, clock }));

const naive: Open = async (file, clock) =>
  new NaiveStore(await openSqliteStore({ file, clock, pollLockWaitMs: 0 }), clock);

class IncludesSince extends DelegatingStore {
  override readPage({ since, ...query }: PageQuery) {
    return this.inner.readPage({ ...query, ...(since !== undefined && { since: since - 1 }) });
  }
}

class AnswersTooLate extends DelegatingStore {
  override async readPage(query: PageQuery) {
    const page = await this.inner.readPage(query);
    return { ...page, readAt: page.readAt + 1 };
  }
}

class IgnoresScope extends DelegatingStore {
  override readPage(query: PageQuery) {
    const { companyId } = query.scope;
    return this.inner.readPage({ ...query, scope: { level: 'COMPANY', companyId } });
  }
}

class IgnoresIds extends DelegatingStore {
  override writeLeads(leads: readonly LeadInput[], options?: WriteOptions) {
    return this.inner.writeLeads(
      leads.map(({ id: _, ...lead }) => lead),
      options,
    );
  }
}

class StampsHistory extends DelegatingStore {
  override writeLeads(leads: readonly LeadInput[], options?: WriteOptions) {
    return this.inner.writeLeads(leads, { ...options, historical: false });
  }
}

class WritesWhatItCan extends DelegatingStore {
  override async writeAllLeads(leads: readonly LeadInput[], scope: LeadScope, sender?: VerifiedToken) {
    const outcome = await this.inner.writeAllLeads(leads, scope, sender);
    if (outcome.kind === 'rejected')
      await this.inner.writeLeads(leads.filter((_, index) => outcome.problems[index]?.length === 0));
    return outcome;
  }
}

class WritesOutsideScope extends DelegatingStore {
  override writeAllLeads(leads: readonly LeadInput[], { companyId }: LeadScope, sender?: VerifiedToken) {
    return this.inner.writeAllLeads(leads, { level: 'COMPANY', companyId }, sender);
  }
}

class IgnoresTheSender extends DelegatingStore {
  override writeAllLeads(leads: readonly LeadInput[], scope: LeadScope) {
    return this.inner.writeAllLeads(leads, scope);
  }
}

class ForgetsScopes extends DelegatingStore {
  override recordTokens(tokens: readonly IssuedToken[]) {
    return this.inner.recordTokens(tokens.map((token) => ({ ...token, scopes: ['leads:read'] })));
  }
}

class ReturnsClockAsLastStamp extends DelegatingStore {
  override async readPage(query: PageQuery) {
    const page = await this.inner.readPage(query);
    return { ...page, lastStamp: page.readAt };
  }
}

class TrimsIds extends DelegatingStore {
  override findUser(userId: string) {
    return this.inner.findUser(userId.trim());
  }
}

/** A cursor of the time alone: leads of other companies with the same time are lost at the end of a page. */
class ListsByTimeAlone extends DelegatingStore {
  override listLeads({ after, ...query }: LeadListQuery) {
    const since = query.since === undefined ? undefined : (after?.createdAt ?? query.since);
    return this.inner.listLeads({ ...query, since, ...(since === undefined && after && { after }) });
  }
}

class WritesItsPlans extends DelegatingStore {
  override async planLeads(leads: readonly LeadInput[]) {
    const plans = await this.inner.planLeads(leads);
    await this.inner.writeLeads(leads);
    return plans;
  }
}

/** The leads of a claim are read with the rights that the user had then. */
class ReadsLeadsOfClaims extends DelegatingStore {
  readonly hooks: HookStore;

  constructor(inner: Store) {
    super(inner);
    const { hooks } = inner;
    if (!hooks) throw new Error('the store has no hooks');
    const read = new Map<string, ReturnType<HookStore['readLead']>>();
    const readOnce: HookStore['readLead'] = (hook, after) => {
      const key = JSON.stringify([hook.id, after]);
      const known = read.get(key) ?? hooks.readLead(hook, after);
      read.set(key, known);
      return known;
    };
    this.hooks = { ...hooks, readLead: readOnce };
  }
}

/** Of two processes that have claimed the same hook, the slower one overwrites what the other has stored. */
class SettlesEndedClaims extends DelegatingStore {
  readonly hooks: HookStore;

  constructor(inner: Store) {
    super(inner);
    const { hooks } = inner;
    if (!hooks) throw new Error('the store has no hooks');
    const refresh = async ({ claimed, progress }: Parameters<HookStore['settle']>[0][number]) => ({
      claimed: (await hooks.find(claimed.id)) ?? claimed,
      progress,
    });
    this.hooks = { ...hooks, settle: async (all) => hooks.settle(await Promise.all(all.map(refresh))) };
  }
}

/** A defect, and the prefix of the checks that must detect it. */
const DEFECTS: readonly [string, Open, readonly string[]][] = [
  ['stamps before the lock and reads without it', naive, ['D1', 'D2', 'D3']],
  ['includes since', broken(IncludesSince), ['pages', 'D4']],
  ['answers with a time after its snapshot', broken(AnswersTooLate), ['D3']],
  ['returns the whole company to every user', broken(IgnoresScope), ['pages']],
  ['lists leads by their time alone', broken(ListsByTimeAlone), ['lists']],
  ['writes what it should only plan', broken(WritesItsPlans), ['lists']],
  ['adds every lead as a new one', broken(IgnoresIds), ['D5']],
  ['adds the valid leads of a rejected request', broken(WritesWhatItCan), ['all or nothing']],
  ['adds leads outside of the scope', broken(WritesOutsideScope), ['all or nothing']],
  ['adds leads of a revoked token', broken(IgnoresTheSender), ['all or nothing']],
  ['forgets the scopes of tokens', broken(ForgetsScopes), ['tokens']],
  ['stamps history', broken(StampsHistory), ['history']],
  ['returns the clock as the last stamp', broken(ReturnsClockAsLastStamp), ['pages']],
  ['reads leads for a hook as of its claim', broken(ReadsLeadsOfClaims), ['hooks']],
  ['stores the result of a claim that has ended', broken(SettlesEndedClaims), ['hooks']],
  ['finds a user by an id with spaces', broken(TrimsIds), ['users']],
];

async function failures(open: Open, group: string): Promise<string[]> {
  const failed: string[] = [];
  const folder = tempFolder();
  const checks = storeConformance.filter(({ name }) => name.startsWith(group));
  for (const [index, check] of checks.entries()) {
    const file = join(folder, `${group}-${index}.db`);
    const openStore = ({ clock }: { clock: Clock }) => open(file, clock);
    const run = check.run(async () => ({ openStore, remove: async () => undefined }));
    await run.catch(() => failed.push(check.name));
  }
  return failed;
}

describe('the conformance suite fails a store that', () => {
  it.each(DEFECTS)('%s', async (_, open, groups) => {
    for (const group of groups) expect(await failures(open, group)).not.toEqual([]);
  });
});

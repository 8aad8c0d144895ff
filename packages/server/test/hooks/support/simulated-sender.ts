/** A sender with a simulated clock, store and receiver, so that a test decides what happens when. */
import { expect, onTestFinished, vi } from 'vitest';
import type { Delivery } from '../../../src/hooks/deliver.ts';
import type { Outcome } from '../../../src/hooks/rules.ts';
import { HookSender } from '../../../src/hooks/sender.ts';
import type { ClaimQuery, DueHook, Hook, HookProgress, SettledHook } from '../../../src/hooks/store.ts';
import type { PageLead } from '../../../src/leads/render.ts';
import type { Change } from '../../../src/poll/store.ts';
import { sampleLead } from '../../cache/support/sample-lead.ts';

export const START = Date.UTC(2026, 2, 2, 9, 30);
export const ACCEPTED: Outcome = { kind: 'accepted', status: 200 };

/** The parts of a store of hooks that the sender uses. Leads of a company are visible to all its hooks. */
class SimulatedStore {
  readonly hooks = new Map<string, { hook: Hook; readonly companyId: string }>();
  readonly newest = new Map<string, number>();
  readonly now = vi.fn(async () => START + performance.now());
  readonly prune = vi.fn(async (_expiredBefore: number) => 0);
  readonly hasHooks = vi.fn(async () => this.hooks.size > 0);
  /** Of each company: when its leads were created. */
  readonly leads = new Map<string, number[]>();
  readonly readLead = vi.fn(async (claimed: Hook, after: number): Promise<PageLead | undefined> => {
    const row = this.hooks.get(claimed.id);
    if (row?.hook.notBefore !== claimed.notBefore) return undefined;
    const createdAt = this.leads.get(row.companyId)?.find((time) => time > after);
    if (createdAt === undefined) return undefined;
    return sampleLead(createdAt);
  });
  readonly takePending = vi.fn(async () => []);
  readonly remove = vi.fn(async (id: string, _createdAt?: number) => this.hooks.delete(id));

  readonly claim = vi.fn(async ({ claimMs, companies, except, limit }: ClaimQuery): Promise<DueHook[]> => {
    const now = START + performance.now();
    const due: DueHook[] = [];
    const rows = [...this.hooks.values()].sort((a, b) => a.hook.notBefore - b.hook.notBefore);
    for (const row of rows) {
      const { hook, companyId } = row;
      const isExcepted =
        except?.hooks.includes(hook.id) ||
        except?.companies.includes(companyId) ||
        (hook.failures > 0 && except?.retriesOf.includes(companyId));
      const isExamined =
        companies === 'all' || companies.includes(companyId) || (hook.checkAt ?? now + 1) <= now;
      if (isExcepted || !isExamined || hook.notBefore > now || due.length === limit) continue;
      const through = this.newest.get(companyId) ?? 0;
      if (through <= hook.announcedThrough) {
        row.hook = { ...hook, checkAt: null };
        continue;
      }
      row.hook = { ...hook, notBefore: now + claimMs, checkAt: now + claimMs };
      due.push({
        hook: row.hook,
        companyId,
        through,
        waitingSince: null,
        hasPending: false,
        claimedAt: now,
      });
    }
    return due;
  });

  readonly settle = vi.fn(async (settled: readonly SettledHook[]): Promise<number> => {
    let stored = 0;
    for (const { claimed, progress } of settled) {
      const row = this.hooks.get(claimed.id);
      if (row?.hook.notBefore !== claimed.notBefore) continue;
      row.hook = { ...row.hook, ...progress };
      stored += 1;
    }
    return stored;
  });
}

interface Post {
  readonly path: string;
  readonly at: number;
  end(outcome: Outcome | 'aborted'): void;
}

export function simulateSender({ maxInFlight = 40 } = {}) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], now: 0 });
  const store = new SimulatedStore();
  const posts: Post[] = [];
  /** How events are answered. Undefined: they hang until the test ends them. */
  const receiver: { answer: ((path: string) => Outcome | undefined) | undefined } = {
    answer: () => ACCEPTED,
  };
  const close = vi.fn(() => {
    for (const post of posts) post.end('aborted');
  });
  const delivery: Delivery = {
    maxInFlight,
    close,
    post: ({ pathname: path }) =>
      new Promise((resolve) => {
        posts.push({ path, at: performance.now(), end: resolve });
        const outcome = receiver.answer?.(path);
        if (outcome) resolve(outcome);
      }),
  };
  let report: (changes: readonly Change[] | undefined) => void = () => undefined;
  const readChanges = vi.fn(async () => undefined);
  const onChanges = (listener: typeof report) => {
    report = listener;
  };
  const [warn, info] = [vi.fn(), vi.fn()];
  const sender = new HookSender({
    ...{ store, delivery, log: { warn, info }, processorMs: () => 0 },
    changes: { readChanges, onChanges },
    ...{ hosts: ['a.test'], signingSecrets: [], publicUrl: undefined, version: '1' },
  });
  /** In steps that are shorter than every time of the sender. */
  const advance = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      vi.advanceTimersByTime(10);
      for (let turn = 0; turn < 8; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const settle = () => advance(300);
  onTestFinished(async () => {
    receiver.answer = () => ACCEPTED;
    const onStopped = vi.fn();
    void sender.stop().then(onStopped);
    await advance(2100);
    vi.useRealTimers();
    expect(onStopped).toHaveBeenCalled();
  });
  const add = (
    id: string,
    companyId: string,
    changes: Partial<HookProgress & Pick<Hook, 'url' | 'send'>> = {},
  ) =>
    store.hooks.set(id, {
      companyId,
      hook: {
        ...{
          id,
          userId: 'boss',
          tokenId: null,
          tokenExpiresAt: null,
          keyId: null,
          connectionId: null,
          name: null,
          url: `https://a.test/${id}`,
          send: 'event',
          baseUrl: '',
        },
        ...{ createdAt: 1, announcedThrough: 0, announcedSince: null },
        ...{ lastEventAt: null, lastStatus: null },
        ...{ failures: 0, failingSince: null, disabledAt: null, notBefore: 0, checkAt: null, remindAt: null },
        ...changes,
      },
    });
  return {
    ...{ sender, store, posts, receiver, advance, settle, readChanges, close, warn, add },
    report: (changes: readonly Change[] | undefined) => report(changes),
    /** New leads, which the change log reports. Returns the newest stamp. */
    addLead(...companies: readonly string[]): number {
      const stamp = START + performance.now();
      for (const id of companies) {
        store.newest.set(id, stamp);
        store.leads.set(id, [...(store.leads.get(id) ?? []), stamp]);
      }
      report(companies.map((id) => ({ kind: 'leads-appended', id })));
      return stamp;
    },
    /** Leads that came before the start. */
    addBacklog(companyId: string, count: number): number[] {
      const stamps = Array.from({ length: count }, (_, index) => START - count + index);
      store.leads.set(companyId, stamps);
      store.newest.set(companyId, stamps.at(-1) ?? 0);
      return stamps;
    },
    hook(id: string): Hook {
      const row = store.hooks.get(id);
      if (!row) throw new Error(`there is no hook ${id}`);
      return row.hook;
    },
    pathsOf: () => posts.map(({ path }) => path.slice(1)),
    /** Starts it, and waits until it has examined all hooks. */
    async start(): Promise<void> {
      sender.start();
      await settle();
    },
  };
}

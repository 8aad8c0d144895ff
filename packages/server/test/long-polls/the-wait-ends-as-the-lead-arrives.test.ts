import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createPollHandler, type RequestHandler } from 'leadtap';
import { inject } from 'light-my-request';
import { test } from 'vitest';
import { noLimit } from '../../../testing/harness/endpoint.ts';
import { toIso } from '../../src/lib/clock.ts';
import { ManualTimers, passTurns, settle } from './support/manual-timers.ts';
import { ModelStore, USERS, type UserName } from './support/model-store.ts';

const STARTED_AT = Date.parse('2026-03-02T09:30:00.000Z');
/** A change ends a wait within this time. */
const PROMPT_MS = 50;
/** When the change log is lost, the polls are checked within a second; when the database is lost, they end within one. */
const RECOVERY_MS = 1100;

interface Wait {
  readonly userId: UserName;
  readonly tokenId: string;
  readonly since: number;
  readonly endsAt: number;
  isAnswered: boolean;
}

interface Answer {
  readonly status: number;
  readonly createdAt: readonly number[];
}

/** The endpoint over a store in memory, with a clock and timers of the test's own. */
class World {
  readonly timers = new ManualTimers();
  readonly clock = () => STARTED_AT + this.timers.nowMs;
  readonly store = new ModelStore(this.clock);
  readonly waits: Wait[] = [];
  readonly errors: string[] = [];
  /** Of the last change, and of the last outage or loss of the log. */
  changedAt = 0;
  troubledAt = 0;
  downSince = 0;
  hasFailedReads = false;
  readonly #app: RequestHandler;
  #tokens = 0;

  constructor() {
    const options = {
      limiter: noLimit,
      clock: this.clock,
      schedule: this.timers.schedule,
      verifyToken: async (token: string) => {
        const [userId = '', tokenId = ''] = token.split(':');
        return { kind: 'valid', token: { userId, tokenId } } as const;
      },
    };
    this.#app = createPollHandler({ ...options, store: this.store });
  }

  async wait(userId: UserName, sinceOffsetMs: number, seconds: number): Promise<void> {
    this.#tokens += 1;
    const tokenId = `token-${this.#tokens}`;
    const since = this.clock() + sinceOffsetMs;
    const endsAt = this.timers.nowMs + seconds * 1000;
    const wait: Wait = { userId, tokenId, since, endsAt, isAnswered: false };
    this.waits.push(wait);
    void this.#poll(wait, { prefer: `wait=${seconds}` }).then(({ statusCode, body }) => {
      const leads: unknown = JSON.parse(body);
      const createdAt = Array.isArray(leads) ? leads.map((lead) => Date.parse(lead.createdAt)) : [];
      this.#receive(wait, { status: statusCode, createdAt });
    });
    await settle();
  }

  /** Every wait that must have ended has ended. */
  checkEnded(): void {
    for (const wait of this.waits)
      if (!wait.isAnswered && this.expected(wait))
        this.errors.push(`at ${this.timers.nowMs} still waits: ${JSON.stringify(wait)}`);
  }

  #receive(wait: Wait, answer: Answer): void {
    wait.isAnswered = true;
    if (answer.status === 503 && (this.store.isDown || this.hasFailedReads)) return;
    const [got, expected] = [answer, this.expected(wait) ?? 'nothing yet'].map((value) =>
      JSON.stringify(value),
    );
    if (got !== expected)
      this.errors.push(`at ${this.timers.nowMs} ${wait.userId} got ${got} instead of ${expected}`);
  }

  async pollOnce(userId: UserName): Promise<void> {
    await this.#poll({ userId, tokenId: 'of an ordinary poll', since: 0 }, {});
  }

  /** What a wait must be answered with now; undefined if it must not end. */
  expected({ userId, tokenId, since, endsAt }: Wait): Answer | undefined {
    const createdAt = this.store.visible(userId, since).map((lead) => lead.createdAt);
    const isDue = endsAt <= this.timers.nowMs;
    const isLost = this.store.isDown && this.timers.nowMs - this.downSince >= RECOVERY_MS;
    if (this.store.isDown) return isDue || isLost ? { status: 503, createdAt: [] } : undefined;
    if (this.store.revoked.has(tokenId)) return { status: 401, createdAt: [] };
    const user = this.store.users.get(userId);
    if (user?.plan !== 'PROFESSIONAL') return { status: user ? 403 : 404, createdAt: [] };
    return createdAt.length > 0 || isDue ? { status: 200, createdAt } : undefined;
  }

  #poll(
    { userId, tokenId, since }: Pick<Wait, 'userId' | 'tokenId' | 'since'>,
    headers: Record<string, string>,
  ) {
    return inject(this.#app, {
      url: `/automation/new-leads?since=${toIso(since)}`,
      headers: { authorization: `Bearer ${userId}:${tokenId}`, ...headers },
    });
  }
}

interface Step {
  readonly text: string;
  run(world: World): Promise<void> | void;
}

const step = (text: string, run: Step['run']): Step => ({ text, run });
/** A step that may end waits. */
const change = (text: string, run: (world: World) => void): Step =>
  step(text, (world) => {
    world.changedAt = world.timers.nowMs;
    run(world);
  });
const user = fc.constantFrom(...USERS);

const waits = fc
  .tuple(user, fc.constantFrom(-5000, 0, 0, 0, 700, 60_000), fc.constantFrom(1, 2, 50))
  .map(([userId, since, seconds]) =>
    step(`${userId} waits ${seconds} s from ${since} ms`, async (world) => {
      // A poll that fails on its arrival does not wait.
      if (!world.store.isDown && world.store.failingReads === 0) await world.wait(userId, since, seconds);
    }),
  );
const adds = fc
  .constantFrom<[string, string | null]>(
    ['acme', null],
    ['acme', 'north'],
    ['acme', 'south'],
    ['globex', null],
  )
  .map(([company, branch]) =>
    change(`a lead of ${company} ${branch}`, ({ store }) => store.commitLead(company, branch)),
  );
const polls = user.map((id) => step(`${id} polls`, (world) => world.pollOnce(id)));
const revokes = fc.nat({ max: 5 }).map((n) =>
  change(`token ${n} is revoked`, ({ store, waits: all }) => {
    const tokenId = all[n]?.tokenId;
    if (tokenId === undefined) return;
    store.revoked.add(tokenId);
    store.logChange({ kind: 'token', id: tokenId });
  }),
);
const changesUser = fc.tuple(user, fc.constantFrom('STARTER', 'PROFESSIONAL', 'removed')).map(([id, plan]) =>
  change(`${id}: ${plan}`, ({ store }) => {
    const found = store.users.get(id);
    if (!found) return;
    if (plan === 'removed') store.users.delete(id);
    else store.users.set(id, { ...found, plan });
    store.logChange({ kind: 'user', id });
  }),
);
const locks = fc.tuple(fc.constantFrom('acme', 'globex'), fc.boolean()).map(([id, isBusy]) =>
  step(`the lock of ${id} is ${isBusy ? 'held' : 'free'}`, ({ store }) => {
    store.busy[isBusy ? 'add' : 'delete'](id);
  }),
);
const fails = fc.boolean().map((isDown) =>
  step(`the database is ${isDown ? 'down' : 'up'}`, (world) => {
    if (!world.store.isDown) world.downSince = world.timers.nowMs;
    world.store.isDown = isDown;
  }),
);
const failsReads = fc.integer({ min: 1, max: 3 }).map((count) =>
  step(`${count} reads fail`, (world) => {
    world.troubledAt = world.timers.nowMs;
    world.hasFailedReads = true;
    world.store.failingReads = count;
  }),
);
/** The poll that is checked because of the first lead has not finished its read when the second one is committed. */
const addsDuringCheck = fc.integer({ min: 0, max: 6 }).map((turns) =>
  step(`a lead of acme/south, and ${turns} turns after it is noticed one of acme/north`, async (world) => {
    world.changedAt = world.timers.nowMs;
    world.store.commitLead('acme', 'south');
    const noticed = world.pollOnce('acme/south');
    await passTurns(turns);
    world.store.commitLead('acme', 'north');
    await Promise.all([noticed, world.pollOnce('globex')]);
  }),
);
const losesLog = fc.constant(
  step('the change log is lost', (world) => {
    world.troubledAt = world.timers.nowMs;
    world.store.loseLog();
  }),
);
const time = fc
  .oneof(fc.integer({ min: 1, max: 300 }), fc.constantFrom(1200))
  .map((ms) => step(`${ms} ms pass`, ({ timers }) => timers.advance(ms)));

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: waits },
    { weight: 2, arbitrary: adds },
    { weight: 4, arbitrary: time },
    { weight: 5, arbitrary: fc.oneof(polls, addsDuringCheck, revokes, changesUser, locks) },
    { weight: 2, arbitrary: fc.oneof(fails, failsReads, losesLog) },
  ),
  { maxLength: 30, size: 'max' },
);

test('a wait ends as a lead arrives, as its time is over, or as access ends, and not otherwise', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const world = new World();
      const { timers, store } = world;
      for (const { run } of sequence) {
        await run(world);
        await settle();
        const isCalm = timers.nowMs - world.troubledAt >= RECOVERY_MS;
        if (store.isDown) {
          world.checkEnded();
          world.troubledAt = timers.nowMs;
        } else if (isCalm && timers.nowMs - world.changedAt >= PROMPT_MS) world.checkEnded();
      }
      store.isDown = false;
      await timers.advance(RECOVERY_MS);
      world.checkEnded();
      assert.deepEqual(world.errors, [], sequence.map(({ text }) => text).join('\n'));
    }),
    { numRuns: 25 },
  );
});

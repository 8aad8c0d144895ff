import { setTimeout as wait } from 'node:timers/promises';
import type { Lead } from '@leadtap/contract';
import type { Hook, Store } from 'leadtap';
import { deferred } from '../harness/deferred.ts';
import { type ManualClock, manualClock } from '../harness/manual-clock.ts';
import { leaveRequests, startService, type TestService } from '../harness/service.ts';
import type { WhenDone } from '../harness/temp-folder.ts';
import { type Receiver, startReceiver } from '../integrations/hook-receiver.ts';
import { Automation } from './automation.ts';
import { type Answer, layRoad, type Road } from './fault-proxy.ts';
import type { Outcome } from './outcomes.ts';
import type { MakePoller, Poller } from './poller.ts';

export const MINUTE_MS = 60_000;
/** What the service recommends. */
const INTERVAL_MS = 2 * MINUTE_MS;
/** Ten hours of them. */
const MOST_POLLS = 300;
const USER = 'boss';
const MONTH_MS = 30 * 24 * 60 * MINUTE_MS;
/** Between two events of a hook. A claimed hook is blocked for longer. */
const HOOK_PAUSE_MS = 1000;

interface Parts {
  readonly clock: ManualClock;
  readonly road: Road;
  readonly receiver: Receiver;
  readonly service: TestService;
  readonly token: string;
  readonly whenDone: WhenDone;
}

/** A real service, a poller and its automation, with a clock that the test advances. */
export class World {
  readonly clock: ManualClock;
  readonly road: Road;
  readonly automation = new Automation();
  readonly #poller: Poller;
  readonly #receiver: Receiver;
  readonly #whenDone: WhenDone;
  /** The ids of the leads that came after the automation was turned on. */
  readonly #added: string[] = [];
  #service: TestService;
  #nextPollAt: number;
  /** The `createdAt` of the newest lead. */
  #lastStamp = 0;
  #lastAddAt = 0;
  /** Resolves when a poll is under way. */
  #polling = deferred();

  private constructor(
    { clock, road, receiver, service, token, whenDone }: Parts,
    makePoller: MakePoller,
    skewMs: number,
  ) {
    this.clock = clock;
    this.road = road;
    this.#receiver = receiver;
    this.#service = service;
    this.#whenDone = whenDone;
    this.#nextPollAt = clock();
    this.#poller = makePoller({
      connection: { baseUrl: road.url, token },
      now: () => clock() + skewMs,
      handOn: this.automation.handOn,
      store: this.automation.store,
      untilHeld: () => this.#untilHeld(),
      receiver,
      untilSent: () => this.#untilSent(),
    });
    road.untilPoll = () => this.#polling.promise;
  }

  /** The poller is turned on an hour after the last of three leads came, which are not news to it. */
  static async begin(makePoller: MakePoller, skewMs: number, whenDone: WhenDone): Promise<World> {
    const clock = manualClock();
    const road = await layRoad(whenDone);
    const receiver = await startReceiver(whenDone);
    const service = await startService({ ...serviceOptions(clock, receiver), whenDone });
    road.target = service.url;
    const token = await service.token(USER, { expiresInMs: MONTH_MS });
    const world = new World({ clock, road, receiver, service, token, whenDone }, makePoller, skewMs);
    const old = await service.add({ id: 'old-1' }, { id: 'old-2' }, { id: 'old-3' });
    world.#lastStamp = old.at(-1) ?? 0;
    clock.advance(60 * MINUTE_MS);
    await world.#poller.turnOn();
    // Samples of what was there already are no news.
    world.automation.received.length = 0;
    world.#nextPollAt = clock() + INTERVAL_MS;
    return world;
  }

  /** Half-way to the next poll, all in one transaction. */
  async add(count: number): Promise<void> {
    this.#goTo(this.#nextPollAt - INTERVAL_MS / 2);
    const ids = this.#newIds(count);
    const stamps = await this.#service.add(...ids.map((id) => ({ id })));
    this.#lastStamp = stamps.at(-1) ?? this.#lastStamp;
    this.#lastAddAt = this.clock();
  }

  /** Writers with a connection each. They offer their leads one by one, all at the millisecond that it is now. */
  async startWriters(count: number): Promise<(leadsEach: number) => Promise<void>> {
    const { database } = this.#service;
    const stores = await Promise.all(
      Array.from({ length: count }, () => database.openStore({ clock: this.clock })),
    );
    for (const store of stores) this.#whenDone(() => store.close());
    const write = async (store: Store, ids: readonly string[]) => {
      for (const id of ids) {
        const { results } = await store.writeLeads([{ companyId: 'acme', id, fields: {} }]);
        const [result] = results;
        if (result?.kind === 'added') this.#lastStamp = Math.max(this.#lastStamp, result.createdAt);
      }
    };
    return async (leadsEach) =>
      void (await Promise.all(stores.map((store) => write(store, this.#newIds(leadsEach)))));
  }

  #newIds(count: number): string[] {
    const ids = Array.from({ length: count }, (_, n) => `lead-${this.#added.length + n}`);
    this.#added.push(...ids);
    return ids;
  }

  #goTo(at: number): void {
    this.clock.advance(Math.max(0, at - this.clock()));
  }

  /** To the moment of the next poll of the schedule. */
  goToNextPoll(): void {
    this.#goTo(this.#nextPollAt);
    this.#nextPollAt += INTERVAL_MS;
  }

  async pollNow(): Promise<void> {
    this.automation.begin();
    const polling = this.#polling;
    polling.resolve();
    try {
      await this.#poller.poll();
    } finally {
      // Not that of a later poll, if the process was killed in this one.
      if (this.#polling === polling) this.#polling = deferred();
    }
  }

  /** Also resolves when the poll is over. */
  async #untilHeld(): Promise<void> {
    const polling = this.#polling;
    while (this.#polling === polling) {
      const since = Date.parse(this.road.heldSince ?? '');
      if (since >= this.#lastStamp && (await this.#countHeld()) > 0) return;
      await wait(5);
    }
  }

  async #countHeld(): Promise<number> {
    const { registry } = this.#service.service.metrics;
    const held = await registry.getSingleMetric('leadtap_waiting_polls')?.get();
    return held?.values[0]?.value ?? 0;
  }

  async #untilSent(): Promise<void> {
    const { hooks } = this.#service.store;
    const isPending = ({ failures, notBefore, announcedThrough, lastEventAt, checkAt, remindAt }: Hook) => {
      const now = this.clock();
      const isPast = (at: number | null) => at !== null && at <= now;
      const isClaimed = failures === 0 && notBefore > now + HOOK_PAUSE_MS;
      const isDue = announcedThrough < this.#lastStamp || (isPast(checkAt) && isPast(remindAt));
      // A hook that fails is examined when its time has come, or with a new lead.
      const isExamined = failures === 0 || isPast(checkAt) || this.#lastAddAt > (lastEventAt ?? 0);
      return isClaimed || (notBefore <= now && isDue && isExamined);
    };
    /** Its last event was stored only now, and the next one follows a second later. */
    const isPaused = ({ failures, notBefore, announcedThrough }: Hook) => {
      const pauseMs = notBefore - this.clock();
      return failures === 0 && announcedThrough < this.#lastStamp && pauseMs > 0 && pauseMs <= HOOK_PAUSE_MS;
    };
    while (this.road.target !== undefined) {
      const listed = await hooks.list({ now: this.clock(), limit: 100 });
      const paused = listed.find(({ hook }) => isPaused(hook));
      if (paused) this.#goTo(paused.hook.notBefore);
      else if (!listed.some(({ hook }) => isPending(hook))) return;
      await wait(20);
    }
  }

  /** The next poll of the schedule. It must succeed. */
  async poll(): Promise<void> {
    this.goToNextPoll();
    await this.pollNow();
  }

  /** A poll that something stands in the way of. Platforms differ in whether they show that as an error. */
  async pollInVain(): Promise<void> {
    await this.pollNow().catch(() => undefined);
  }

  /** A poll in the middle of which the poller's process is killed: its page has arrived, and nothing was done with it. */
  async pollKilledWithPage(): Promise<void> {
    this.goToNextPoll();
    const killed = new Promise<void>((resolve) => {
      this.road.fateOf = (answer) => {
        if (leadsIn(answer) === 0) return 'arrives';
        resolve();
        return 'client disconnected';
      };
    });
    await Promise.race([killed, this.pollNow()]);
    this.road.fateOf = () => 'arrives';
    this.restartPoller();
  }

  /** A poll that is killed between handing on leads and storing how far it came, in the platform's own order. */
  async pollKilledInBetween(): Promise<void> {
    this.goToNextPoll();
    this.automation.diesInBetween = true;
    await this.pollNow().catch(() => undefined);
    this.automation.diesInBetween = false;
    this.restartPoller();
  }

  restartPoller(): void {
    this.#polling = deferred();
    this.automation.begin();
    this.#poller.restart();
  }

  /** The service goes away. It comes back with what was committed, and nothing else. */
  async stopService(): Promise<void> {
    this.road.target = undefined;
    await this.#service.stop();
  }

  async startService(): Promise<void> {
    this.#service = await startService({
      ...serviceOptions(this.clock, this.#receiver),
      beside: this.#service,
      whenDone: this.#whenDone,
    });
    this.road.target = this.#service.url;
  }

  /** Other programs of the same user poll until no more than this many requests are left to it. */
  async leaveRequests(count: number): Promise<void> {
    await leaveRequests(this.#service, USER, count);
  }

  /** Polls until two polls, or as many as the poller says, bring nothing, or have failed; for ten hours at most. */
  async outcome(): Promise<Outcome> {
    const { idlePolls = 2 } = this.#poller;
    let idle = 0;
    let failed = 0;
    for (let polls = 0; polls < MOST_POLLS && idle < idlePolls; polls += 1) {
      const before = this.automation.received.length;
      await this.poll().catch(() => {
        failed += 1;
      });
      idle = this.automation.received.length > before ? 0 : idle + 1;
    }
    return { ...this.#count(idle === idlePolls), failed };
  }

  #count(isOver: boolean): Omit<Outcome, 'failed'> {
    const expected = new Set(this.#added);
    const received = new Set(this.automation.received);
    const old = [...received].filter((id) => !expected.has(id));
    if (old.length > 0) throw new Error(`leads from before it was turned on: ${old}`);
    const missing = expected.size - received.size;
    return {
      lost: isOver ? missing : 0,
      late: isOver ? 0 : missing,
      twice: this.automation.received.length - received.size,
    };
  }
}

/** Polls are recorded at once: the real time until then is no part of the time of the world. */
const serviceOptions = (clock: ManualClock, { origin }: Receiver) => ({
  clock,
  recordFlushMs: 0,
  env: { LEADTAP_HOOK_HOSTS: origin },
});

function leadsIn({ status, body }: Answer): number {
  if (status !== 200) return 0;
  const leads: readonly Lead[] = JSON.parse(body.toString());
  return leads.length;
}

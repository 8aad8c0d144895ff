import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import { leaveRequests, startService, type TestService } from '../../../testing/harness/service.ts';
import type { WhenDone } from '../../../testing/harness/temp-folder.ts';

const USER = 'boss';
const YEARS_MS = 100 * 365 * 86_400_000;

/** The real service, whose time the test owns, with what happens to it while somebody polls. */
export class LiveService {
  readonly clock: ManualClock;
  readonly token: string;
  /** The ids of all leads, in the order in which they were committed. */
  readonly leadIds: string[] = [];
  readonly #whenDone: WhenDone;
  #service: TestService;
  #lastStamp = 0;

  private constructor(service: TestService, clock: ManualClock, token: string, whenDone: WhenDone) {
    this.#service = service;
    this.clock = clock;
    this.token = token;
    this.#whenDone = whenDone;
  }

  static async start(whenDone: WhenDone): Promise<LiveService> {
    const clock = manualClock();
    const service = await startService({ clock, whenDone });
    const token = await service.token(USER, {
      expiresInMs: YEARS_MS,
      scopes: ['leads:read', 'leads:write'],
    });
    return new LiveService(service, clock, token, whenDone);
  }

  get url(): string {
    return this.#service.url;
  }

  /** A `since` behind everything that is there: the stamps of a burst run ahead of the clock. */
  sinceNow(): string {
    return new Date(Math.max(this.clock(), this.#lastStamp)).toISOString();
  }

  async add(count: number): Promise<void> {
    if (count === 0) return;
    const ids = Array.from({ length: count }, (_, n) => `lead-${this.leadIds.length + n}`);
    const times = await this.#service.add(...ids.map((id) => ({ id })));
    this.#lastStamp = times.at(-1) ?? 0;
    this.leadIds.push(...ids);
  }

  /** All leads that were stored after this moment, as the store has them. */
  async storedSince(since: number) {
    const scope = { level: 'COMPANY', companyId: 'acme' } as const;
    return (await this.#service.store.readPage({ scope, since, limit: 100_000 })).leads;
  }

  /** The `createdAt` of the newest lead. */
  async newestStamp(): Promise<number> {
    const scope = { level: 'COMPANY', companyId: 'acme' } as const;
    const { leads } = await this.#service.store.readPage({ scope, limit: 1 });
    return leads[0]?.createdAt ?? 0;
  }

  /** Stops the service, and starts it again over the same database, at another address. */
  async restart(): Promise<void> {
    await this.#service.stop();
    this.#service = await startService({
      clock: this.clock,
      beside: this.#service,
      whenDone: this.#whenDone,
    });
  }

  /** Other programs of the same user poll until no more requests than these are left. */
  async leaveRequests(count: number): Promise<void> {
    await leaveRequests(this.#service, USER, count);
  }
}

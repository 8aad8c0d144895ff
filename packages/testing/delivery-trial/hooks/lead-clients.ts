/** Clients that get the leads by webhook, with faulty receivers, while leads are erased, tokens revoked and access levels narrowed. */
import { setTimeout as wait } from 'node:timers/promises';
import { HOOKS_PATH, type Lead, type SubscribedHook } from '@leadtap/contract';
import type { Organisation, Store } from 'leadtap';
import type { Installation } from '../pollers/http-caller.ts';
import { Random } from '../random.ts';
import { FaultyReceiver, type ReceivedRequest } from './faulty-receiver.ts';
import { requestUntilAnswered } from './hook-client.ts';
import {
  judgeLeads,
  type LeadFindings,
  type LeadRequest,
  type LeadSubscription,
  type Narrowing,
} from './judge-leads.ts';

type StoredLead = Awaited<ReturnType<Store['listLeads']>>[number];

const BRANCH = 'north';
/** `narrowed` loses the right to see the other branch from time to time, `revoked` its token. */
const ACCESSES = ['COMPANY', 'BRANCH', 'narrowed', 'revoked'] as const;
type Access = (typeof ACCESSES)[number];
const MAX_REVOCATIONS = 6;
const REVOCATIONS_PER_RUN = 3;
const BEGINNING = '1970-01-01T00:00:00.000Z';
const RETRY_MS = 100;
const ALWAYS: Narrowing = { branchName: BRANCH, from: 0, until: Number.POSITIVE_INFINITY };

interface ClientPlan {
  readonly access: Access;
  readonly companyId: string;
  /** One after the other: each has one token. */
  readonly userIds: readonly string[];
}

const plansOf = (companyIds: readonly string[]): ClientPlan[] =>
  ACCESSES.map((access, index) => {
    const companyId = companyIds[index % companyIds.length] ?? '';
    const count = access === 'revoked' ? MAX_REVOCATIONS + 1 : 1;
    const userIds = Array.from({ length: count }, (_, n) => `${companyId}-lead-${access}-${n + 1}`);
    return { access, companyId, userIds };
  });

export const leadUsersOf = (
  companyIds: readonly string[],
  companyId: string,
): Organisation['companies'][number]['users'] =>
  plansOf(companyIds)
    .filter((plan) => plan.companyId === companyId)
    .flatMap(({ access, userIds }) =>
      userIds.map((id) => ({
        ...{ id, plan: 'PROFESSIONAL', departmentId: null },
        accessLevel: access === 'BRANCH' ? ('BRANCH' as const) : ('COMPANY' as const),
        branchId: access === 'BRANCH' ? BRANCH : null,
      })),
    );

export interface LeadClientVerdict extends LeadFindings {
  readonly client: string;
  readonly expected: number;
  readonly requests: number;
  readonly doubles: number;
  readonly followedRedirects: number;
}

class LeadClient {
  readonly plan: ClientPlan;
  readonly narrowings: Narrowing[] = [];
  readonly #random: Random;
  readonly #underWay = new Set<Promise<void>>();
  /** By the path of its URL. */
  readonly #subscriptions = new Map<string, LeadSubscription>();
  readonly #requests = new Map<ReceivedRequest, LeadRequest>();
  #receiver: FaultyReceiver | undefined;
  #installation: Installation | undefined;
  #user = 0;
  /** Then it subscribes anyway. */
  #isChangingToken = false;
  /** The ids of leads. */
  readonly #accepted = new Set<string>();
  #acceptedThrough = BEGINNING;

  private constructor(plan: ClientPlan, random: Random) {
    this.plan = plan;
    this.#random = random;
  }

  static async start(plan: ClientPlan, random: Random, index: number): Promise<LeadClient> {
    const client = new LeadClient(plan, random);
    client.#receiver = await FaultyReceiver.start({
      ...{ random, index },
      onRequest: (request) => client.#record(request),
      onEvent: (request) => client.#accept(request),
      onGone: () => {
        if (!client.#isChangingToken) client.#track(client.#subscribe());
      },
    });
    return client;
  }

  get receiver(): FaultyReceiver {
    if (!this.#receiver) throw new Error('the client has not started');
    return this.#receiver;
  }

  get userId(): string {
    return this.plan.userIds[this.#user] ?? '';
  }

  async subscribe(installation: Installation): Promise<void> {
    this.#installation = installation;
    await this.#subscribe();
  }

  async settle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Continues with another user, if there is one left. */
  async changeToken(store: Store): Promise<boolean> {
    if (this.#user + 1 >= this.plan.userIds.length || !this.#installation) return false;
    const token = await this.#installation.token(this.userId);
    const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const ended = this.#current();
    this.#isChangingToken = true;
    await this.settle();
    await untilDone(() => store.revokeToken(jti));
    ended.endedAt = Date.now();
    this.#user += 1;
    this.receiver.changeUrl();
    await this.#subscribe();
    this.#isChangingToken = false;
    return true;
  }

  has(id: string): boolean {
    return this.#accepted.has(id);
  }

  judge(
    guaranteed: readonly { readonly id: string }[],
    erased: ReadonlyMap<string, number>,
  ): LeadClientVerdict {
    const { companyId, access } = this.plan;
    const client = `${companyId}-lead-${access}`;
    const requests = [...this.#requests.values()];
    const subscriptions = [...this.#subscriptions.values()];
    const narrowings = access === 'BRANCH' ? [ALWAYS] : this.narrowings;
    return {
      ...judgeLeads({ client, companyId, subscriptions, guaranteed, narrowings, erased }),
      ...{ client, expected: guaranteed.length, requests: requests.length },
      doubles: requests.length - new Set(requests.map(({ webhookId }) => webhookId)).size,
      followedRedirects: this.receiver.followedRedirects,
    };
  }

  #current(): LeadSubscription {
    return this.#subscriptionOf(new URL(this.receiver.url).pathname);
  }

  #subscriptionOf(path: string): LeadSubscription {
    const known = this.#subscriptions.get(path) ?? { requests: [] };
    this.#subscriptions.set(path, known);
    return known;
  }

  #record(request: ReceivedRequest): void {
    const { id, createdAt, branchName } = JSON.parse(request.text) as Lead;
    const recorded: LeadRequest = {
      ...{ webhookId: request.webhookId, begunAt: request.timestampMs, arrivedAt: request.arrivedAt },
      lead: { id, createdAt, branchName },
      isAccepted: false,
    };
    this.#requests.set(request, recorded);
    this.#subscriptionOf(request.path).requests.push(recorded);
  }

  #accept(request: ReceivedRequest): void {
    const recorded = this.#requests.get(request);
    if (!recorded) throw new Error('the request was not recorded');
    recorded.isAccepted = true;
    const { id, createdAt } = recorded.lead;
    this.#accepted.add(id);
    if (createdAt > this.#acceptedThrough) this.#acceptedThrough = createdAt;
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  async #subscribe(): Promise<void> {
    if (!this.#installation) throw new Error('the client has not subscribed');
    const { url } = this.receiver;
    const body = JSON.stringify({ url, since: this.#acceptedThrough, send: 'lead' });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const response = await requestUntilAnswered(
      this.#installation,
      this.userId,
      this.#random,
      HOOKS_PATH,
      init,
    );
    const { send } = (await response.json()) as SubscribedHook;
    if (send !== 'lead') throw new Error(`the subscription sends ${send}`);
  }
}

async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    const done = await work().then(
      (value) => ({ value }),
      () => undefined,
    );
    if (done) return done.value;
    await wait(RETRY_MS);
  }
}

/** All of them, and what happens to their leads and accounts. */
export class LeadClients {
  readonly #clients: readonly LeadClient[];
  readonly #random: Random;
  readonly #erased = new Map<string, number>();
  /** Those that are stored, and may be erased. */
  readonly #written: { readonly id: string; readonly companyId: string }[] = [];
  #revocations = 0;

  private constructor(clients: readonly LeadClient[], random: Random) {
    this.#clients = clients;
    this.#random = random;
  }

  /** Before the service starts, which has to allow their origins. */
  static async start(seed: number, companyIds: readonly string[]): Promise<LeadClients> {
    const clients = plansOf(companyIds).map((plan, index) =>
      LeadClient.start(plan, new Random(seed * 3001 + index), index),
    );
    return new LeadClients(await Promise.all(clients), new Random(seed * 4001));
  }

  get receivers(): readonly FaultyReceiver[] {
    return this.#clients.map(({ receiver }) => receiver);
  }

  async subscribe(installation: Installation): Promise<void> {
    for (const client of this.#clients) await client.subscribe(installation);
  }

  async settle(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.settle()));
  }

  addWritten(leads: readonly { readonly id?: string | undefined; readonly companyId: string }[]): void {
    for (const { id, companyId } of leads) if (id !== undefined) this.#written.push({ id, companyId });
  }

  /** Erases leads, narrows access levels and revokes tokens, each at least once. */
  async run(store: Store, seconds: number, signal: AbortSignal): Promise<void> {
    const narrowed = this.#clients.filter(({ plan }) => plan.access === 'narrowed');
    const revoked = this.#clients.filter(({ plan }) => plan.access === 'revoked');
    await Promise.all([
      this.#repeat(signal, 1500, () => this.#erase(store)),
      ...narrowed.map((client) => this.#repeat(signal, 2000, () => this.#narrow(client, store, signal))),
      ...revoked.map((client) =>
        this.#repeat(signal, (1000 * seconds) / REVOCATIONS_PER_RUN, async () => {
          if (await client.changeToken(store)) this.#revocations += 1;
        }),
      ),
    ]);
  }

  /** The clients whose guaranteed leads are not all there. */
  isComplete(stored: readonly StoredLead[]): boolean {
    return this.#clients.every((client) => guaranteedTo(client, stored).every(({ id }) => client.has(id)));
  }

  /** The newest lead that the hook of each user sends at least. */
  newestByUser(stored: readonly StoredLead[]): ReadonlyMap<string, number> {
    return new Map(
      this.#clients.map((client) => [client.userId, guaranteedTo(client, stored).at(-1)?.createdAt ?? 0]),
    );
  }

  judge(stored: readonly StoredLead[]): LeadClientVerdict[] {
    return this.#clients.map((client) => client.judge(guaranteedTo(client, stored), this.#erased));
  }

  figures(): Readonly<Record<string, number>> {
    const narrowings = this.#clients.reduce((sum, client) => sum + client.narrowings.length, 0);
    return {
      'leads erased': this.#erased.size,
      'access levels narrowed': narrowings,
      'tokens of webhooks revoked': this.#revocations,
    };
  }

  async #repeat(signal: AbortSignal, everyMs: number, work: () => Promise<void>): Promise<void> {
    do {
      await wait(this.#random.below(2 * everyMs), undefined, { signal }).catch(() => undefined);
      await work();
    } while (!signal.aborted);
  }

  async #erase(store: Store): Promise<void> {
    const { removal } = store;
    const [lead] = this.#written.splice(this.#random.below(this.#written.length), 1);
    if (!lead) return;
    const { id, companyId } = lead;
    await untilDone(async () => removal.erase(await removal.findByIds([id], companyId)));
    this.#erased.set(id, Date.now());
  }

  async #narrow(client: LeadClient, store: Store, signal: AbortSignal): Promise<void> {
    const { userId } = client;
    await untilDone(() => store.updateUser(userId, { accessLevel: 'BRANCH', branchId: BRANCH }));
    const from = Date.now();
    await wait(1000 + this.#random.below(4000), undefined, { signal }).catch(() => undefined);
    client.narrowings.push({ branchName: BRANCH, from, until: Date.now() });
    await untilDone(() => store.updateUser(userId, { accessLevel: 'COMPANY', branchId: null }));
  }
}

/** What the user may see at all times, oldest first. */
function guaranteedTo({ plan }: LeadClient, stored: readonly StoredLead[]) {
  const seesAll = plan.access === 'COMPANY' || plan.access === 'revoked';
  return stored
    .filter(({ companyId, branchId }) => companyId === plan.companyId && (seesAll || branchId === BRANCH))
    .map(({ lead }) => lead);
}

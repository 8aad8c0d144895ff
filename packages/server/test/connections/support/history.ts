/** Histories of connections, run with the real service, beside what was really written to sockets. */
import { AssertionError } from 'node:assert';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Connections, Lead, LeadConnections, OutConnection } from '@leadtap/contract';
import type { LeadInput } from 'leadtap';
import { type ManualClock, manualClock } from '../../../../testing/harness/manual-clock.ts';
import { issuedToken, ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { startService, type TestService } from '../../../../testing/harness/service.ts';
import { listOutcomes } from '../../../src/connections/lead-outcome.ts';

export const CLIENTS = ['link', 'own', 'bare', 'back', 'northLink', 'northBare'] as const;
export type ClientName = (typeof CLIENTS)[number];
export type Place = 'north' | 'south' | null;
export type Access = 'company' | 'north' | 'south';

/** A webhook is one more client, with steps for what its receiver answers. */
export type Step =
  | { readonly do: 'add'; readonly place: Place; readonly count: number }
  | {
      readonly do: 'poll';
      readonly who: ClientName;
      readonly limit?: number;
      /** Of two instances. */
      readonly on?: number;
      readonly isCut?: boolean;
    }
  /** It asks without `since`, as an editor or a person does. */
  | { readonly do: 'sample'; readonly who: ClientName; readonly limit: number }
  /** It asks for what came after this lead. */
  | { readonly do: 'ask'; readonly who: ClientName; readonly after: number }
  | { readonly do: 'settle'; readonly who: ClientName; readonly times: number }
  | { readonly do: 'wait'; readonly minutes: number }
  | { readonly do: 'move'; readonly lead: number; readonly place: Place }
  | { readonly do: 'access'; readonly who: ClientName; readonly access: Access }
  | { readonly do: 'expire' | 'revoke' | 'renew' | 'handle'; readonly who: ClientName }
  | { readonly do: 'import'; readonly count: number; readonly minutesAgo: number }
  | { readonly do: 'erase'; readonly lead: number }
  | { readonly do: 'prune'; readonly count: number }
  /** These poll one after the other, and the instance dies before it has written it. */
  | { readonly do: 'kill'; readonly polls: readonly ClientName[] };

type State = LeadConnections['out'][number]['state'];
type Style = 'none' | 'stamp' | 'time';

interface KnownLead {
  readonly id: string;
  readonly number: number;
  readonly createdAt: number;
  readonly isHistory: boolean;
  readonly addedAt: number;
  place: Place;
  movedAt: number;
}

interface Client {
  readonly name: ClientName;
  readonly userId: string;
  readonly usesSince: boolean;
  tokenId: string;
  access: Access;
  accessChangedAt: number;
  /** The stamps up to which another access was in force. */
  accessChangedThrough: number;
  link: string | undefined;
  askedAt: number;
  /** The rule of polls that count. */
  styles: Style[];
  lastLink: number | null;
  start: number | null;
  position: number;
  firstAt: number;
  /** What was written to a socket: when it was first. */
  readonly sent: Map<string, number>;
  /** The same by an instance that has died. */
  readonly perhapsSent: Set<string>;
  /** Audits since its position changed. */
  audits: number;
  readonly passed: Set<string>;
  readonly owed: Set<string>;
  lastOkAt: number;
  failures: number;
  hasPruned: boolean;
  /** Its last token was revoked: leads up to here were meant for it. */
  endStamp: number | null;
  floor: number | null;
  hasWorked: boolean;
  longestPauseMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const UNLIMITED = [{ name: 'minute', quota: 1_000_000, windowS: 60 }];
const MAX_CHECKED = 6;

const ACCESS = {
  company: { accessLevel: 'COMPANY', branchId: null, departmentId: null },
  north: { accessLevel: 'BRANCH', branchId: 'north', departmentId: null },
  south: { accessLevel: 'BRANCH', branchId: 'south', departmentId: null },
} as const;

const [acme] = ORGANISATION.companies;
if (!acme) throw new Error('there is no company');
const ONE_COMPANY = {
  companies: [
    {
      ...acme,
      users: [
        { id: 'reader', ...ACCESS.company, plan: 'PROFESSIONAL', email: null, name: null },
        ...CLIENTS.map((name) => ({
          ...{ id: name, plan: 'PROFESSIONAL', email: null, name: null },
          ...(name.startsWith('north') ? ACCESS.north : ACCESS.company),
        })),
      ],
    },
  ],
};

/** The socket is destroyed before the body is written. */
function cutAnswers({ publicServer }: TestService['service']): void {
  publicServer.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers['x-cut'] === undefined) return;
    const end = response.end.bind(response);
    response.end = ((...args: Parameters<ServerResponse['end']>) => {
      request.socket.destroy();
      return end(...args);
    }) as ServerResponse['end'];
  });
}

const stampOf = (address: string): number | null => {
  const since = new URL(address).searchParams.get('since');
  return since === null ? null : Date.parse(since);
};

export class History {
  readonly clock: ManualClock = manualClock();
  readonly #clients = new Map<ClientName, Client>();
  #leads: KnownLead[] = [];
  readonly #instances: TestService[] = [];
  #added = 0;
  #deadAt = Number.NEGATIVE_INFINITY;
  #isDone = false;
  readonly #stops: (() => unknown)[] = [];
  #reader = '';
  #step = '';
  readonly #stepText: string[] = [];
  readonly #seen = new Map<TestService['store'], Set<string>>();

  static async start(): Promise<History> {
    const history = new History();
    await history.#startInstance();
    await history.#startInstance();
    const [first] = history.#instances;
    if (!first) throw new Error('nothing runs');
    history.#reader = await first.token('reader', { expiresInMs: 400 * 24 * HOUR_MS });
    for (const name of CLIENTS) {
      const tokenId = randomUUID();
      history.#clients.set(name, {
        ...{ name, userId: name, usesSince: name !== 'bare' && name !== 'northBare', tokenId },
        ...{ access: name.startsWith('north') ? 'north' : 'company', accessChangedAt: -1 },
        ...{ accessChangedThrough: -1, link: undefined, askedAt: history.clock(), styles: [] },
        ...{ lastLink: null, start: null, position: 0, firstAt: 0, sent: new Map(), perhapsSent: new Set() },
        ...{ audits: 0, passed: new Set(), owed: new Set(), lastOkAt: 0, failures: 0 },
        ...{ hasPruned: false, endStamp: null, floor: null, hasWorked: false, longestPauseMs: 0 },
      });
      await first.store.recordTokens([{ ...issuedToken(name, tokenId), name: `CRM of ${name}` }]);
    }
    return history;
  }

  async #startInstance(): Promise<void> {
    const [beside] = this.#instances;
    const service = await startService({
      ...{ clock: this.clock, limits: { userPolicies: UNLIMITED } },
      // Access that was changed stays as it is.
      organisation: beside ? { companies: [] } : ONE_COMPANY,
      ...(beside && { beside }),
      prepare: cutAnswers,
      whenDone: (stop) => {
        this.#stops.push(stop);
      },
    });
    this.#instances.push(service);
    const { connections } = service.store;
    const { noteInstance } = connections;
    const ids = new Set<string>();
    this.#seen.set(service.store, ids);
    const note: typeof noteInstance = (id, event) => {
      ids.add(id);
      return noteInstance(id, event);
    };
    Object.assign(connections, { noteInstance: note });
    // Now it is known by its id.
    await service.service.connections.audit();
  }

  async stop(): Promise<void> {
    if (this.#isDone) return;
    this.#isDone = true;
    for (const stop of this.#stops.reverse()) await stop();
  }

  #clientOf(name: ClientName): Client {
    const client = this.#clients.get(name);
    if (!client) throw new Error(`there is no client ${name}`);
    return client;
  }

  #instance(number = 0): TestService {
    const instance = this.#instances.at(number % this.#instances.length);
    if (!instance) throw new Error('nothing runs');
    return instance;
  }

  #fail(message: string): never {
    throw new AssertionError({ message: `after ${this.#step}: ${message}\n${this.#stepText.join('\n')}` });
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const [index, step] of steps.entries()) {
      this.#step = `${index + 1}. ${JSON.stringify(step)}`;
      this.#stepText.push(this.#step);
      await this.#apply(step);
      await this.#check(false);
    }
    this.#step = 'three audits';
    await this.#wait(3);
    await this.#check(true);
  }

  async #apply(step: Step): Promise<void> {
    switch (step.do) {
      case 'add':
        return this.#add(step.count, step.place);
      case 'poll':
        return this.#pollOf(this.#clientOf(step.who), step);
      case 'sample':
        return this.#ask(this.#clientOf(step.who), { since: null, limit: step.limit });
      case 'ask': {
        const lead = this.#leads.at(-1 - (step.after % Math.max(1, this.#leads.length)));
        if (!lead) return;
        return this.#ask(this.#clientOf(step.who), { since: lead.createdAt, limit: 100 });
      }
      case 'settle':
        for (let time = 0; time < step.times; time += 1) {
          await this.#pollOf(this.#clientOf(step.who), {});
          await this.#flush();
          await this.#wait(2);
        }
        return;
      case 'wait':
        return this.#wait(step.minutes);
      case 'move':
        return this.#move(step.lead, step.place);
      case 'access':
        return this.#changeAccess(this.#clientOf(step.who), step.access);
      case 'expire':
        return this.#pollExpired(this.#clientOf(step.who));
      case 'revoke':
        return this.#revoke(this.#clientOf(step.who));
      case 'renew':
        return this.#renew(this.#clientOf(step.who));
      case 'handle':
        return this.#handle(this.#clientOf(step.who));
      case 'import':
        return this.#add(step.count, null, this.clock() - step.minutesAgo * MINUTE_MS);
      case 'erase':
        return this.#erase(step.lead);
      case 'prune':
        return this.#prune(step.count);
      case 'kill':
        return this.#kill(step.polls);
    }
  }

  async #add(count: number, place: Place, historyOf?: number): Promise<void> {
    const ids = Array.from({ length: count }, (_, index) => `l${this.#added + index + 1}`);
    const inputs = ids.map(
      (id, index): LeadInput => ({
        ...{ companyId: 'acme', id, fields: { firstName: 'Ada' } },
        ...(place !== null && { branchId: place }),
        ...(historyOf !== undefined && { createdAt: historyOf + index }),
      }),
    );
    const { results } = await this.#instance().store.writeLeads(inputs, {
      historical: historyOf !== undefined,
    });
    for (const [index, result] of results.entries()) {
      if (result.kind === 'rejected') throw new Error(JSON.stringify(result.problem));
      this.#leads.push({
        ...{ id: ids[index] ?? '', number: this.#added + index + 1, createdAt: result.createdAt, place },
        ...{ isHistory: historyOf !== undefined, movedAt: -1, addedAt: this.clock() },
      });
    }
    this.#added += count;
    this.#leads.sort((a, b) => a.createdAt - b.createdAt);
  }

  #sees = ({ access }: Client, { place }: KnownLead): boolean => access === 'company' || access === place;

  async #pollOf(
    client: Client,
    { limit = 100, on = 0, isCut = false }: { limit?: number; on?: number; isCut?: boolean },
  ): Promise<void> {
    const now = this.clock();
    const isFirst = client.askedAt === now && client.start === null;
    const own = { own: isFirst ? now : client.askedAt, back: now - HOUR_MS };
    const since =
      client.name === 'own' || client.name === 'back'
        ? own[client.name]
        : client.usesSince && client.link !== undefined
          ? stampOf(client.link)
          : null;
    if (client.name === 'own') client.askedAt = now;
    await this.#ask(client, { since, limit, on, isCut });
  }

  /** Returns the ids that were written. */
  async #ask(
    client: Client,
    {
      since,
      limit,
      on = 0,
      isCut = false,
      isLost = false,
    }: { since: number | null; limit: number; on?: number; isCut?: boolean; isLost?: boolean },
  ): Promise<void> {
    const service = this.#instance(on);
    const token = await service.token(client.userId, { tokenId: client.tokenId });
    const query = `limit=${limit}${since === null ? '' : `&since=${new Date(since).toISOString()}`}`;
    const headers = { authorization: `Bearer ${token}`, ...(isCut && { 'x-cut': '1' }) };
    const now = this.clock();
    let response: Response | undefined;
    try {
      response = await fetch(`${service.url}/automation/new-leads?${query}`, { headers });
    } catch (error) {
      if (!isCut) throw error;
    }
    if (response && response.status !== 200) {
      await response.text();
      client.failures += 1;
      return;
    }
    const leads = response ? ((await response.json()) as Lead[]) : [];
    const link = /<(.*)>/.exec(response?.headers.get('link') ?? '')?.[1];
    if (isLost) {
      for (const { id } of leads) client.perhapsSent.add(id);
      if (client.usesSince) client.link = link ?? client.link;
      return;
    }
    await this.#flush();
    if (!response) {
      // What its Link gave is known to the service alone.
      await this.#readState(client, since);
      return;
    }
    this.#note(client, { since, leads, now, link: link === undefined ? 0 : (stampOf(link) ?? 0) });
    if (client.usesSince && client.name !== 'own' && client.name !== 'back') client.link = link;
  }

  /** The rules of polls that count, of the start and of the position. */
  #note(
    client: Client,
    { since, leads, now, link }: { since: number | null; leads: readonly Lead[]; now: number; link: number },
  ): void {
    const isStamp = since === client.lastLink || this.#leads.some(({ createdAt }) => createdAt === since);
    const style: Style = since === null ? 'none' : isStamp ? 'stamp' : 'time';
    const same = client.styles.filter((one) => one === style).length;
    const counts =
      client.styles.length === 0 ||
      (since !== null && since === client.lastLink) ||
      2 * (same + 1) >= client.styles.length + 1;
    client.styles = [...client.styles, style].slice(-10);
    client.lastLink = link;
    const isStart = client.start === null;
    if (isStart) {
      client.start = since ?? link;
      client.position = client.start;
      client.firstAt = now;
    }
    if (client.lastOkAt > 0) client.longestPauseMs = Math.max(client.longestPauseMs, now - client.lastOkAt);
    client.lastOkAt = now;
    client.failures = 0;
    client.endStamp = null;
    if (!counts) return;
    const stamps = leads.map(({ createdAt }) => Date.parse(createdAt));
    if (since === null) this.#checkSurprise(client, leads);
    const position = since ?? Math.max(client.position, ...stamps);
    if (position !== client.position) client.audits = 0;
    client.position = position;
    for (const lead of this.#leads) if (lead.createdAt <= position) client.passed.add(lead.id);
    for (const { id, createdAt } of leads) {
      const known = this.#leads.find((lead) => lead.id === id);
      const isMeant = since !== null || (Date.parse(createdAt) > (client.start ?? 0) && !known?.isHistory);
      if (isMeant && !client.sent.has(id)) client.sent.set(id, now);
      if (isMeant) client.owed.delete(id);
    }
  }

  /** After an answer that was cut off: nothing of it counts as sent. */
  async #readState(client: Client, since: number | null): Promise<void> {
    const connection = await this.#findStored(client);
    if (!connection) return;
    client.styles = [...connection.habit.styles];
    client.lastLink = connection.habit.link;
    client.start = connection.startStamp;
    if (client.firstAt === 0) client.firstAt = connection.firstAt;
    client.position = connection.position ?? 0;
    client.endStamp = connection.endStamp;
    client.lastOkAt = connection.lastAt ?? 0;
    client.audits = 0;
    if (since !== null)
      for (const lead of this.#leads) if (lead.createdAt <= client.position) client.passed.add(lead.id);
  }

  #findStored = (client: Client) =>
    this.#instance().store.connections.findByKey({
      ...{ userId: client.userId, kind: 'poll', keyId: client.tokenId },
    });

  /** Pages without `since` that count never go back behind the first one, and have no history that was imported since. */
  #checkSurprise(client: Client, leads: readonly Lead[]): void {
    const visible = this.#leads.filter((lead) => this.#sees(client, lead));
    client.floor ??= visible.at(-100)?.createdAt ?? visible[0]?.createdAt ?? this.clock();
    if (!client.hasWorked) return;
    for (const { id } of leads) {
      const lead = this.#leads.find((one) => one.id === id);
      if (!lead || lead.movedAt >= 0) continue;
      if (lead.isHistory && lead.addedAt > client.firstAt)
        this.#fail(`${client.name} gets ${id}, which was imported later`);
      if (lead.createdAt < client.floor && !lead.isHistory)
        this.#fail(`${client.name} gets ${id}, which is older than its first page`);
      const isFromBefore =
        lead.createdAt < client.accessChangedThrough - 3 * client.longestPauseMs - MINUTE_MS;
      if (
        isFromBefore &&
        !client.sent.has(id) &&
        !client.owed.has(id) &&
        client.accessChangedAt > lead.addedAt
      )
        this.#fail(`${client.name} gets ${id}, which is older than its access`);
    }
  }

  /** Each minute, one of the instances compares the leads with what was sent. */
  async #wait(minutes: number): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      this.clock.advance(MINUTE_MS);
      for (const { store } of this.#instances)
        for (const id of this.#seen.get(store) ?? []) await store.connections.noteInstance(id, 'seen');
      await this.#instance(minute).service.connections.audit();
    }
    for (const client of this.#clients.values()) client.audits += minutes;
  }

  async #flush(): Promise<void> {
    for (const { service } of this.#instances) await service.connections.flush();
  }

  #leadAt = (number: number): KnownLead | undefined =>
    this.#leads.at(-1 - (number % Math.max(1, this.#leads.length)));

  async #move(number: number, place: Place): Promise<void> {
    const lead = this.#leadAt(number);
    if (!lead || lead.place === place) return;
    await this.#instance().store.writeLeads([
      { companyId: 'acme', id: lead.id, branchId: place, fields: {} },
    ]);
    for (const client of this.#clients.values())
      if (this.#sees(client, lead) && !this.#sees(client, { ...lead, place })) client.owed.delete(lead.id);
    lead.place = place;
    lead.movedAt = this.clock();
    for (const client of this.#clients.values()) client.audits = 0;
  }

  async #changeAccess(client: Client, access: Access): Promise<void> {
    if (client.access === access) return;
    // An audit between two changes sees what the first one has left.
    await this.#wait(2);
    await this.#instance().store.updateUser(client.userId, ACCESS[access]);
    client.access = access;
    client.accessChangedAt = this.clock();
    client.accessChangedThrough = this.#leads.filter(({ isHistory }) => !isHistory).at(-1)?.createdAt ?? -1;
    client.audits = 0;
  }

  async #pollExpired(client: Client): Promise<void> {
    const service = this.#instance();
    const token = await service.token(client.userId, { tokenId: client.tokenId, expiresInMs: -HOUR_MS });
    const response = await fetch(`${service.url}/automation/new-leads`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (response.status !== 401) this.#fail(`an expired token gets ${response.status}`);
    await response.text();
    client.failures += 1;
  }

  /** It ends with its last token. One that never worked owes nothing. */
  async #revoke(client: Client): Promise<void> {
    await this.#flush();
    await this.#instance().store.revokeToken(client.tokenId);
    const stored = await this.#findStored(client);
    client.endStamp = stored?.endStamp ?? null;
    if (client.endStamp !== null && !client.hasWorked) client.owed.clear();
  }

  async #renew(client: Client): Promise<void> {
    const tokenId = randomUUID();
    await this.#instance().store.recordTokens([
      { ...issuedToken(client.userId, tokenId), name: `CRM of ${client.name}` },
    ]);
    client.tokenId = tokenId;
  }

  async #handle(client: Client): Promise<void> {
    await this.#flush();
    const stored = await this.#findStored(client);
    if (!stored) return;
    const response = await this.#instance().inject({
      method: 'POST',
      url: `/automation/connections/${stored.id}/handled`,
      headers: {
        authorization: `Bearer ${await this.#instance().token(client.userId, { tokenId: randomUUID() })}`,
      },
    });
    if (response.statusCode !== 204) this.#fail(`marking as handled gets ${response.statusCode}`);
    client.hasPruned = false;
    const after = await this.#findStored(client);
    if (after?.endedBy === 'handled') {
      // It is as if it had never asked.
      client.owed.clear();
      client.passed.clear();
      client.start = null;
      client.endStamp = null;
      client.lastOkAt = 0;
    }
  }

  async #erase(number: number): Promise<void> {
    const lead = this.#leadAt(number);
    if (!lead) return;
    const { id, createdAt } = lead;
    await this.#flush();
    await this.#instance().store.removal.erase([{ companyId: 'acme', createdAt, id }]);
    this.#forget([lead]);
  }

  async #prune(count: number): Promise<void> {
    await this.#flush();
    const pruned = this.#leads.slice(0, count);
    const before = (pruned.at(-1)?.createdAt ?? 0) + 1;
    for (const lead of pruned) {
      const states = await this.#statesOf(lead);
      for (const client of this.#clients.values())
        if (states.get(client.name)?.state === 'waiting' && client.hasWorked) client.hasPruned = true;
    }
    await this.#instance().store.removal.prune('acme', before, count);
    this.#forget(pruned);
  }

  #forget(leads: readonly KnownLead[]): void {
    this.#leads = this.#leads.filter((lead) => !leads.includes(lead));
    for (const client of this.#clients.values()) for (const { id } of leads) client.owed.delete(id);
  }

  /** The first instance dies with what it has not written, and another one is started. */
  async #kill(polls: readonly ClientName[]): Promise<void> {
    await this.#flush();
    if (this.#deadAt > 0) return;
    for (const name of polls) {
      const client = this.#clientOf(name);
      const since =
        client.name === 'own' || client.name === 'back'
          ? client.askedAt
          : client.usesSince && client.link !== undefined
            ? stampOf(client.link)
            : null;
      await this.#ask(client, { since, limit: 100, on: 0, isLost: true });
    }
    const [dead] = this.#instances.splice(0, 1);
    if (dead) {
      this.#seen.delete(dead.store);
      const killed = () => Promise.reject(new Error('killed'));
      Object.assign(dead.store.connections, { record: killed, noteInstance: killed, audit: killed });
    }
    this.#deadAt = this.clock();
    await this.#startInstance();
    await this.#wait(1);
  }

  async #statesOf(lead: KnownLead, on = 0): Promise<Map<ClientName, { state: State; why: string | null }>> {
    const response = await this.#instance(on).inject({
      url: `/automation/connections?lead=${lead.id}`,
      headers: { authorization: `Bearer ${this.#reader}` },
    });
    if (response.statusCode !== 200) this.#fail(`${lead.id}: ${response.statusCode} ${response.payload}`);
    const { out } = JSON.parse(response.payload) as LeadConnections;
    return new Map(
      out.map(({ name, state, why }) => [name.replace('CRM of ', '') as ClientName, { state, why }]),
    );
  }

  /** The same without HTTP, for the leads of a burst. */
  async #storedStatesOf({ id }: KnownLead): Promise<Map<ClientName, { state: State; why: string | null }>> {
    const scope = { level: 'COMPANY', companyId: 'acme' } as const;
    const outcomes = (await this.#instance().store.connections.findLead('acme', id, scope)) ?? [];
    return new Map(
      listOutcomes(outcomes).map(({ name, state, why }) => [
        name.replace('CRM of ', '') as ClientName,
        { state, why },
      ]),
    );
  }

  async #check(isEnd: boolean): Promise<void> {
    await this.#flush();
    const response = await this.#instance().inject({
      url: '/automation/connections',
      headers: { authorization: `Bearer ${this.#reader}` },
    });
    const list = JSON.parse(response.payload) as Connections;
    const rows = new Map(list.out.map((row) => [row.name.replace('CRM of ', ''), row]));
    const some = this.#pick();
    const picked = isEnd ? this.#leads : some;
    const counts = new Map<ClientName, Record<State, number>>();
    for (const lead of picked) {
      const states = await (some.includes(lead) ? this.#statesOf(lead) : this.#storedStatesOf(lead));
      for (const client of this.#clients.values()) {
        const outcome = states.get(client.name);
        const count = counts.get(client.name) ?? { sent: 0, waiting: 0, missed: 0, none: 0 };
        counts.set(client.name, count);
        if (!outcome) {
          if (client.start !== null) this.#fail(`${client.name} has no outcome of ${lead.id}`);
          continue;
        }
        this.#checkState(client, lead, outcome.state, outcome.why);
        if (outcome.state !== 'missed' || outcome.why?.includes('handled') === false)
          count[outcome.state] += 1;
      }
    }
    for (const client of this.#clients.values()) {
      const stored = await this.#findStored(client);
      client.hasWorked = (stored?.workedAt ?? null) !== null;
      this.#checkRow(client, rows.get(client.name), list, isEnd ? counts.get(client.name) : undefined);
    }
  }

  /** The newest, the oldest, and some between. */
  #pick(): readonly KnownLead[] {
    const step = Math.max(1, Math.floor(this.#leads.length / MAX_CHECKED));
    return this.#leads.filter((_, index) => index % step === 0 || index >= this.#leads.length - 2);
  }

  #checkState(client: Client, lead: KnownLead, state: State, why: string | null): void {
    const { sent, perhapsSent, start, position, owed } = client;
    const say = (expected: string) =>
      this.#fail(`${lead.id} is ${state} (${why}) for ${client.name}, not ${expected}`);
    if (sent.has(lead.id)) {
      if (state !== 'sent') say('sent');
      return;
    }
    if (perhapsSent.has(lead.id)) {
      if (state === 'none' && this.#isMeant(client, lead)) say('sent or missed');
      return;
    }
    if (state === 'sent') say('what it was not sent');
    const isHandled = why?.includes('handled') === true;
    if (start === null || isHandled) return;
    if (lead.isHistory || lead.createdAt <= start) {
      if (state !== 'none') say('none');
      return;
    }
    const isVisible = this.#sees(client, lead);
    if (client.endStamp !== null) {
      if (lead.createdAt > client.endStamp && state === 'waiting') say('none: it has ended');
      // What it missed before stays. What is moved to it after its end is none.
      if (lead.createdAt > client.endStamp || lead.movedAt >= 0) return;
    }
    const isOldAccess = client.accessChangedThrough >= lead.createdAt;
    if (owed.has(lead.id)) {
      const isElsewhere = lead.movedAt >= 0 && !isVisible;
      if (state === 'none' && !isElsewhere && client.audits >= 3) say('waiting or missed: it is owed');
    }
    if (!isVisible && lead.movedAt < 0 && !isOldAccess && state !== 'none') say('none');
    if (!isVisible || isOldAccess) return;
    if (lead.movedAt >= 0) {
      if (state === 'none' && client.audits >= 3) say('waiting or missed');
    } else {
      const isPassed = client.passed.has(lead.id);
      if (state === 'none') say('waiting or missed');
      if (!isPassed && state !== 'waiting') say('waiting');
      if (lead.createdAt <= position && client.audits >= 3 && state !== 'missed') say('missed');
    }
    if (state === 'waiting' || state === 'missed') owed.add(lead.id);
  }

  #isMeant = (client: Client, lead: KnownLead): boolean =>
    !lead.isHistory &&
    lead.createdAt > (client.start ?? Number.POSITIVE_INFINITY) &&
    this.#sees(client, lead) &&
    client.accessChangedThrough < lead.createdAt;

  #checkRow(
    client: Client,
    row: OutConnection | undefined,
    { since }: Connections,
    counts: Record<State, number> | undefined,
  ): void {
    const say = (text: string) =>
      this.#fail(`${client.name}: ${text}: ${JSON.stringify({ ...row, hours: 0 })}`);
    if (!row) {
      if (counts && client.hasWorked && counts.missed > 0) say('no row, but missed leads');
      return;
    }
    const from = Math.floor(Date.parse(since) / HOUR_MS);
    const sent = [...client.sent.values()].filter((at) => Math.floor(at / HOUR_MS) >= from).length;
    if (row.sent < sent || row.sent > sent + client.perhapsSent.size) say(`${sent} were sent`);
    const inHours = row.hours.reduce((sum, { leads }) => sum + leads, 0);
    const first = Date.parse(row.hours[0]?.at ?? '');
    const inDay = [...client.sent.values()].filter((at) => at >= first).length;
    if (inHours < inDay || inHours > inDay + client.perhapsSent.size)
      say(`${inDay} were sent by hour, ${inHours} are counted`);
    if (counts) {
      if (row.waiting !== counts.waiting) say(`${counts.waiting} wait`);
      if (row.missed !== counts.missed) say(`${counts.missed} are missed`);
    }
    const isCalm = row.level === 'good' || (row.level === 'unknown' && row.state === 'working');
    if (isCalm && (row.missed > 0 || (counts?.missed ?? 0) > 0)) say('calm while leads are missed');
    if (client.hasPruned && client.hasWorked && row.level !== 'error')
      say('leads were pruned while they waited');
    if (isCalm || row.level === 'unknown') return;
    const isQuiet = this.clock() - client.lastOkAt > 15 * MINUTE_MS;
    const isLate = row.waiting > 0 && this.clock() - Date.parse(row.waitingSince ?? '') > 10 * MINUTE_MS;
    const hasReason =
      row.missed > 0 || row.state === 'ended' || client.hasPruned || isQuiet || isLate || client.failures > 0;
    const asksAhead = client.position > this.clock() + MINUTE_MS;
    if (!hasReason && !asksAhead && row.state !== 'failing') say('red or amber without a reason');
    if (row.state === 'failing' && client.failures === 0 && !row.message.includes('same leads'))
      say('failing without a failure');
  }
}

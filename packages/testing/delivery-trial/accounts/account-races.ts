/**
 * Races between requests and changes of their accounts. In each race, a request is under way while its token is revoked, its user is
 * removed, or the plan or access level is changed. No answer may contain a lead that was committed after the change was, and no
 * request may store one.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { Organisation, Store } from 'leadtap';
import { Random } from '../random.ts';

const KINDS = ['poll', 'poll behind a writer', 'long poll', 'upload'] as const;
type Kind = (typeof KINDS)[number];

type ChangeName = 'revocation' | 'removal' | 'level' | 'plan';

interface Change {
  /** Besides 200, for polls. */
  readonly pollStatuses: readonly number[];
  /** Besides 201. Absent: uploads do not depend on it. */
  readonly uploadStatuses?: readonly number[];
  apply(store: Store, userId: string, tokenId: string): Promise<unknown>;
}

const CHANGES: Readonly<Record<ChangeName, Change>> = {
  revocation: {
    // The 401 of one address are limited: 600 a minute, then 429.
    pollStatuses: [401, 429],
    uploadStatuses: [401, 429],
    apply: (store, _userId, tokenId) => store.revokeToken(tokenId),
  },
  removal: { pollStatuses: [404], uploadStatuses: [404], apply: (store, userId) => store.removeUser(userId) },
  level: {
    pollStatuses: [],
    uploadStatuses: [422],
    apply: (store, userId) => store.updateUser(userId, { accessLevel: 'BRANCH', branchId: SEEN }),
  },
  plan: { pollStatuses: [403], apply: (store, userId) => store.updateUser(userId, { plan: 'STARTER' }) },
};

/** The branch that a lowered access level still shows. */
const SEEN = 'seen';
const UNSEEN = 'unseen';

export interface LateLead {
  readonly companyId: string;
  readonly id: string;
  readonly branchId: string;
}

/**
 * Applies a change while a writer holds the lock of the company, and commits the lead after it. Calls `onLocked` when the lock is
 * held.
 */
export type ChangeBehindWriter = (
  lead: LateLead,
  onLocked: () => void,
  applyChange: () => Promise<unknown>,
) => Promise<void>;

export interface AccountRaceOptions {
  readonly urls: readonly string[];
  /** For changes and leads: another process than the instances, or like one. */
  readonly store: Store;
  token(userId: string): Promise<string>;
  readonly changeBehindWriter: ChangeBehindWriter;
  /** As in `organisationOf`. Each has one race at a time. */
  readonly companies: number;
  readonly races: number;
  readonly seed: number;
  readonly onProgress?: (done: number) => void;
}

export interface AccountRaceVerdict {
  /** By kind of request and of change: how often each status was returned. */
  readonly counts: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** A sentence for each lead that was returned or stored after the change. */
  readonly late: readonly string[];
  /** A sentence for each answer that fits neither the account before the change nor the one after it. */
  readonly wrong: readonly string[];
}

const companyOf = (race: number, companies: number): string => `company-${race % companies}`;
const userOf = (race: number): string => `user-${race}`;

/** Every race has a user of its own. */
export const organisationOf = ({
  races,
  companies,
}: Pick<AccountRaceOptions, 'races' | 'companies'>): Organisation => ({
  companies: Array.from({ length: companies }, (_, index) => ({
    id: companyOf(index, companies),
    name: companyOf(index, companies),
    branches: [SEEN, UNSEEN].map((id) => ({ id, name: id, departments: [] })),
    users: Array.from({ length: Math.ceil((races - index) / companies) }, (_, round) => ({
      id: userOf(index + round * companies),
      plan: 'PROFESSIONAL',
      accessLevel: 'COMPANY',
      branchId: null,
      departmentId: null,
    })),
  })),
});

/** Longer than a poll takes, so that the change comes before, during and after it. */
const MAX_DELAY_MS = 12;
const HELD_S = 10;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export async function runAccountRaces(options: AccountRaceOptions): Promise<AccountRaceVerdict> {
  const { races, companies, seed } = options;
  const verdict = new Verdict();
  let done = 0;
  const runCompany = async (first: number) => {
    for (let race = first; race < races; race += companies) {
      await new Race(options, race, new Random(seed * 1_000_003 + race), verdict).run();
      done += 1;
      options.onProgress?.(done);
    }
  };
  await Promise.all(Array.from({ length: Math.min(companies, races) }, (_, index) => runCompany(index)));
  return verdict;
}

class Verdict implements AccountRaceVerdict {
  readonly counts = new Map<string, Map<number, number>>();
  readonly late: string[] = [];
  readonly wrong: string[] = [];

  count(title: string, status: number): void {
    const statuses = this.counts.get(title) ?? new Map<number, number>();
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    this.counts.set(title, statuses);
  }
}

class Race {
  readonly #options: AccountRaceOptions;
  readonly #random: Random;
  readonly #verdict: Verdict;
  readonly #userId: string;
  readonly #url: string;
  readonly #late: LateLead;

  constructor(options: AccountRaceOptions, race: number, random: Random, verdict: Verdict) {
    this.#options = options;
    this.#random = random;
    this.#verdict = verdict;
    this.#userId = userOf(race);
    this.#url = options.urls[race % options.urls.length] ?? '';
    this.#late = { companyId: companyOf(race, options.companies), id: `late-${race}`, branchId: UNSEEN };
  }

  async run(): Promise<void> {
    const kind = this.#random.pick(...KINDS);
    const name = this.#random.pick<ChangeName>('revocation', 'removal', 'level', 'plan');
    // Uploads do not depend on the plan.
    const change = kind === 'upload' && name === 'plan' ? 'level' : name;
    const token = await this.#options.token(this.#userId);
    const title = `${kind}, ${change}`;
    if (kind === 'upload') await this.#raceUpload(title, CHANGES[change], token);
    else await this.#racePoll(title, kind, CHANGES[change], token);
  }

  async #racePoll(
    title: string,
    kind: Exclude<Kind, 'upload'>,
    change: Change,
    token: string,
  ): Promise<void> {
    const { changeBehindWriter, store } = this.#options;
    const since = await this.#lastCreatedAt();
    const applyChange = () => change.apply(store, this.#userId, tokenIdOf(token));
    let answer: Promise<Answer> | undefined;
    const start = () => {
      answer = this.#poll(token, since, kind === 'long poll');
    };
    if (kind === 'poll behind a writer')
      await changeBehindWriter(this.#late, start, async () => {
        await this.#pause();
        await applyChange();
      });
    else {
      start();
      await this.#pause();
      // A long poll that a lead wakes is under way when the change comes.
      const wake = { ...this.#late, id: `wake-${this.#late.id}`, branchId: SEEN };
      const woken = kind === 'long poll' && this.#random.chance(60) ? this.#write(wake) : undefined;
      if (woken) await wait(this.#random.below(4));
      await applyChange();
      await Promise.all([woken, this.#write(this.#late)]);
    }
    // It ends the long polls that the new access level allows.
    if (kind === 'long poll')
      await this.#write({ ...this.#late, id: `end-${this.#late.id}`, branchId: SEEN });
    const { status, body } = (await answer) ?? { status: 0, body: undefined };
    this.#verdict.count(title, status);
    if (status === 200 ? !Array.isArray(body) : !change.pollStatuses.includes(status))
      this.#verdict.wrong.push(`${this.#userId}, ${title}: ${status} ${JSON.stringify(body)}`);
    if (Array.isArray(body) && body.some((lead) => lead.id === this.#late.id))
      this.#verdict.late.push(`${this.#userId}, ${title}: ${this.#late.id} was returned`);
  }

  async #raceUpload(title: string, change: Change, token: string): Promise<void> {
    const { store } = this.#options;
    const { companyId, id, branchId } = this.#late;
    const upload = startUpload(`${this.#url}/leads`, token, { id, branchId, firstName: 'Ada' });
    await this.#pause();
    const changed = change
      .apply(store, this.#userId, tokenIdOf(token))
      .then(() => store.findLeads(id, companyId));
    await wait(this.#random.below(2 * MAX_DELAY_MS));
    upload.finish();
    const storedBefore = await changed;
    const { status, body } = await upload.answer;
    const isStored = (await store.findLeads(id, companyId)).length > 0;
    this.#verdict.count(title, status);
    if (status === 201 ? !isStored : isStored || !change.uploadStatuses?.includes(status))
      this.#verdict.wrong.push(
        `${this.#userId}, ${title}: ${status} ${JSON.stringify(body)}, stored: ${isStored}`,
      );
    if (isStored && storedBefore.length === 0)
      this.#verdict.late.push(`${this.#userId}, ${title}: ${id} was stored`);
  }

  #pause(): Promise<void> {
    return wait(this.#random.below(MAX_DELAY_MS));
  }

  /** A lead that makes sure that the company has a last one. */
  async #lastCreatedAt(): Promise<string> {
    const createdAt = await this.#write({ ...this.#late, id: `first-${this.#late.id}`, branchId: SEEN });
    return new Date(createdAt).toISOString();
  }

  async #write({ companyId, id, branchId }: LateLead): Promise<number> {
    const { results } = await this.#options.store.writeLeads([
      { companyId, id, branchId, fields: { firstName: 'Ada' } },
    ]);
    const [result] = results;
    if (result?.kind !== 'added') throw new Error(`${id} was not added`);
    return result.createdAt;
  }

  async #poll(token: string, since: string, isHeld: boolean): Promise<Answer> {
    const response = await fetch(`${this.#url}/automation/new-leads?since=${since}`, {
      headers: { authorization: `Bearer ${token}`, ...(isHeld && { prefer: `wait=${HELD_S}` }) },
    });
    return { status: response.status, body: await response.json() };
  }
}

/** Sends all but the last byte of a lead; `finish` sends that. */
function startUpload(url: string, token: string, lead: object) {
  const text = JSON.stringify(lead);
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  const upload = httpRequest(url, { method: 'POST', headers });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    upload.once('response', resolve).once('error', reject);
  }).then(
    async (response): Promise<Answer> => ({ status: response.statusCode ?? 0, body: await json(response) }),
  );
  // An early answer closes the connection.
  upload.on('error', () => undefined);
  upload.write(text.slice(0, -1));
  return { answer, finish: () => upload.end(text.slice(-1)) };
}

const tokenIdOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti;

/**
 * Clients poll on webhook events alone, or get the leads by webhook, while leads are written, receivers fail, and instances and the
 * database crash. At the end, each client has each lead that its user may see.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { LeadInput, Organisation, Store } from 'leadtap';
import type { Installation } from '../pollers/http-caller.ts';
import { Random } from '../random.ts';
import { HOOK_CLIENT_KINDS, HookClient, type HookClientKind } from './hook-client.ts';
import { type LeadClients, type LeadClientVerdict, leadUsersOf } from './lead-clients.ts';

export const COMPANIES = ['acme', 'globex'];
const BRANCHES = ['north', 'south'] as const;
const BRANCH_OF_USERS = 'north';
const LEVELS = ['COMPANY', 'BRANCH'] as const;
const WRITERS = 4;
const MAX_BATCH = 20;
const MAX_LEADS = 1_000_000;
const RETRY_MS = 100;

/** A user for each company, kind and access level. */
const USERS = COMPANIES.flatMap((companyId) =>
  HOOK_CLIENT_KINDS.flatMap((kind) =>
    LEVELS.map((accessLevel) => ({
      companyId,
      kind,
      accessLevel,
      id: `${companyId}-${kind}-${accessLevel}`,
    })),
  ),
);

export const ORGANISATION: Organisation = {
  companies: COMPANIES.map((id) => ({
    id,
    name: id,
    branches: BRANCHES.map((branch) => ({ id: branch, name: branch, departments: [] })),
    users: [
      ...USERS.filter(({ companyId }) => companyId === id).map((user) => ({
        id: user.id,
        plan: 'PROFESSIONAL',
        accessLevel: user.accessLevel,
        branchId: user.accessLevel === 'BRANCH' ? BRANCH_OF_USERS : null,
        departmentId: null,
      })),
      ...leadUsersOf(COMPANIES, id),
    ],
  })),
};

/** Before the service starts, which has to allow their origins. */
export const startHookClients = (
  seed: number,
  kinds: readonly HookClientKind[] = HOOK_CLIENT_KINDS,
): Promise<HookClient[]> =>
  Promise.all(
    USERS.filter(({ kind }) => kinds.includes(kind)).map(({ kind, id: userId }, index) =>
      HookClient.start({ kind, userId, index, random: new Random(seed * 1009 + index) }),
    ),
  );

/** The value of LEADTAP_HOOK_HOSTS. */
export const hostsOf = (clients: readonly HookClient[], leadClients: LeadClients): string =>
  [...clients.map(({ receiver }) => receiver), ...leadClients.receivers]
    .map(({ origin }) => origin)
    .join(',');

export interface HookTrialOptions {
  readonly clients: readonly HookClient[];
  readonly leadClients: LeadClients;
  readonly installation: Installation;
  readonly store: Store;
  readonly leads: number;
  readonly seconds: number;
  readonly seed: number;
  /** Each crashes something, and is done when it works again. Each happens at least once. */
  readonly crashes: readonly (() => Promise<void>)[];
  readonly msPerCrash: number;
}

export interface HookTrialVerdict {
  readonly leads: number;
  readonly crashes: number;
  readonly clients: readonly {
    readonly kind: HookClientKind;
    readonly userId: string;
    readonly expected: number;
    /** The ids of leads that the client has not got. */
    readonly lost: readonly string[];
    readonly events: number;
    readonly polls: number;
    readonly ignored: number;
    readonly repeated: number;
    readonly followedRedirects: number;
  }[];
  /** Those that get leads. */
  readonly leadClients: readonly LeadClientVerdict[];
  readonly faults: ReadonlyMap<string, number>;
}

/** May run again with the same clients, with another seed. */
export async function runHookTrial(options: HookTrialOptions): Promise<HookTrialVerdict> {
  const { clients, leadClients, installation, seed } = options;
  const receivers = [...clients.map(({ receiver }) => receiver), ...leadClients.receivers];
  for (const receiver of receivers) receiver.isFaulty = true;
  for (const client of clients) {
    client.isOnlyReminded = false;
    await client.subscribe(installation);
  }
  await leadClients.subscribe(installation);
  const end = new AbortController();
  setMaxListeners(0, end.signal);
  const receiving = receivers.map((receiver) => receiver.run(end.signal));
  const crashing = crashAtRandom(options, end.signal);
  const changing = leadClients.run(options.store, options.seconds, end.signal);
  await Promise.all(Array.from({ length: WRITERS }, (_, index) => writeLeads(options, index)));
  end.abort();
  const crashes = await crashing;
  await Promise.all([...receiving, changing]);
  for (const receiver of receivers) receiver.isFaulty = false;
  for (const client of clients) client.isOnlyReminded = true;
  // Something is announced to those that must be reminded.
  await writeUntilStored(
    options.store,
    COMPANIES.map((id) => leadOf(`${seed}-last`, id)),
  );
  const stored = await readStored(options);
  const expected = expectedOf(stored);
  await untilComplete(options, expected, stored);
  return judge(options, expected, stored, crashes);
}

const leadOf = (id: string, companyId = '', branchId: string = BRANCH_OF_USERS): LeadInput => ({
  id: `${companyId}-${id}`,
  companyId,
  branchId,
  fields: {},
});

async function writeLeads(
  { store, leads, seconds, seed, leadClients }: HookTrialOptions,
  index: number,
): Promise<void> {
  const random = new Random(seed * 2003 + index);
  const own = Math.ceil(leads / WRITERS);
  const begun = performance.now();
  for (let written = 0; written < own; ) {
    const companyId = random.pick(COMPANIES[0] ?? '', ...COMPANIES);
    const length = Math.min(own - written, 1 + random.below(MAX_BATCH));
    const batch = Array.from({ length }, (_, n) =>
      leadOf(`${seed}-${index}-${written + n}`, companyId, random.pick(...BRANCHES)),
    );
    await writeUntilStored(store, batch);
    leadClients.addWritten(batch);
    written += length;
    const dueMs = (written / own) * seconds * 1000;
    await wait(Math.max(0, begun + dueMs - performance.now()) * 2 * random.next());
  }
}

/** The ids make a repetition harmless. */
async function writeUntilStored(store: Store, leads: readonly LeadInput[]): Promise<void> {
  for (;;) {
    const outcome = await store.writeLeads(leads).catch(() => undefined);
    if (outcome?.results.every(({ kind }) => kind !== 'rejected')) return;
    if (outcome) throw new Error(`a lead was rejected: ${JSON.stringify(outcome.results)}`);
    await wait(RETRY_MS);
  }
}

async function crashAtRandom(
  { crashes, msPerCrash, seed }: HookTrialOptions,
  signal: AbortSignal,
): Promise<number> {
  const random = new Random(seed);
  if (crashes.length === 0) return 0;
  for (let done = 0; ; done += 1) {
    await wait(random.below(2 * msPerCrash), undefined, { signal }).catch(() => undefined);
    if (signal.aborted && done >= crashes.length) return done;
    await (crashes[done] ?? crashes[random.below(crashes.length)])?.();
  }
}

type Expected = ReadonlyMap<string, readonly { readonly id: string; readonly createdAt: number }[]>;

type Stored = Awaited<ReturnType<Store['listLeads']>>;

/** Of each company, oldest first. */
async function readStored({ store }: HookTrialOptions): Promise<Stored> {
  const listed = COMPANIES.map((companyId) => store.listLeads({ companyId, since: 0, limit: MAX_LEADS }));
  return (await Promise.all(listed)).flat();
}

/** The leads of each user, oldest first. */
function expectedOf(stored: Stored): Expected {
  const visible = ({ companyId, accessLevel }: (typeof USERS)[number]) =>
    stored.filter(
      (lead) =>
        lead.companyId === companyId && (accessLevel === 'COMPANY' || lead.branchId === BRANCH_OF_USERS),
    );
  return new Map(USERS.map((user) => [user.id, visible(user).map(({ lead }) => lead)]));
}

const missing = ({ userId, received }: HookClient, expected: Expected): string[] =>
  (expected.get(userId) ?? []).map(({ id }) => id).filter((id) => !received.has(id));

/** Until each client has all leads, or every hook has announced all of them, and nothing is left that would repeat an event. */
async function untilComplete(
  { clients, leadClients, store }: HookTrialOptions,
  expected: Expected,
  stored: Stored,
): Promise<void> {
  const newest = new Map(leadClients.newestByUser(stored));
  for (const [userId, leads] of expected) newest.set(userId, leads.at(-1)?.createdAt ?? 0);
  for (let isDone = false; !isDone; await wait(RETRY_MS)) {
    // Before the clients settle: each has accepted the events that are stored as announced by then.
    const hooks = await store.hooks.list({ now: Date.now(), limit: 1000 });
    isDone = hooks.every(
      ({ hook }) => hook.checkAt === null && hook.announcedThrough >= (newest.get(hook.userId) ?? 0),
    );
    await Promise.all([...clients, leadClients].map((client) => client.settle()));
    isDone ||=
      clients.every((client) => missing(client, expected).length === 0) && leadClients.isComplete(stored);
  }
}

function judge(
  { clients, leadClients }: HookTrialOptions,
  expected: Expected,
  stored: Stored,
  crashes: number,
): HookTrialVerdict {
  const faults = new Map<string, number>();
  for (const receiver of [...clients.map((client) => client.receiver), ...leadClients.receivers])
    for (const [fault, count] of receiver.faults) faults.set(fault, (faults.get(fault) ?? 0) + count);
  return {
    leads: new Set([...expected.values()].flat().map(({ id }) => id)).size,
    crashes,
    faults,
    leadClients: leadClients.judge(stored),
    clients: clients.map((client) => ({
      ...{ kind: client.kind, userId: client.userId, polls: client.polls },
      ...{ ignored: client.ignored, repeated: client.repeated },
      events: client.receiver.events,
      followedRedirects: client.receiver.followedRedirects,
      expected: expected.get(client.userId)?.length ?? 0,
      lost: missing(client, expected),
    })),
  };
}

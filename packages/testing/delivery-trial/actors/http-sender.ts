import { LEADS_PATH } from '@leadtap/contract';
import { type Actor, type ActorContext, PLACES, type Place } from '../actor.ts';
import { findUndeclared, isFaultStatus, type ReceivedResponse } from '../declared.ts';
import type { Change, Scope } from '../judge/history.ts';
import { BRANCH, DEPARTMENT } from '../judge/timeline.ts';
import { type Installation, timeoutSignal } from '../pollers/http-caller.ts';
import type { PollerSetup } from '../pollers/profiles.ts';

/** Users who may send leads of a company, at one access level. */
export interface SenderUsers {
  readonly scope: Scope;
  readonly userIds: readonly string[];
}

export interface HttpSenderOptions {
  readonly name: string;
  readonly installation: Installation;
  readonly users: readonly [SenderUsers, ...SenderUsers[]];
  /** Requests without an answer are expected. A 503 always is: on a busy machine a request may wait too long for its database. */
  readonly toleratesFaults?: boolean;
}

/** The limit of sent leads has nothing to do with that of polls, so the users of the clients can send as well. */
export function sendersOf(setups: readonly PollerSetup[]): [SenderUsers, ...SenderUsers[]] {
  const users = setups
    .filter(({ profile }) => profile.name === 'Link')
    .map(({ client: { scope }, userIds }) => ({ scope, userIds }));
  const [first, ...others] = users;
  if (!first) throw new Error('no client follows Link');
  return [first, ...others];
}

interface OutgoingLead extends Partial<Place> {
  readonly id?: string;
  readonly firstName: string;
}

interface Request {
  readonly scope: Scope;
  readonly leads: readonly OutgoingLead[];
  readonly changes: readonly Change[];
  readonly userId: string;
  /** For leads without an id. */
  readonly key: string;
  readonly isForm: boolean;
}

const MAX_LEADS = 5;
const PAUSE_AFTER_FAILURE_MS = 25;
/**
 * A busy machine is slow; a service that is down stays down for much longer. Leads without an id that were stored and never
 * acknowledged cannot be told from ones that no program sent, so giving up too soon would look like a broken guarantee.
 */
const ACKNOWLEDGE_LIMIT_MS = 600_000;

/** `POST /leads`, with ids and with idempotency keys, as JSON and as forms. Every request is sent until it is answered. */
export const httpSender = (options: HttpSenderOptions): Actor => ({
  name: 'HTTP senders',
  run: async (context) => {
    const knownIds = new Map<string, string>();
    for (let done = 0; context.goesOn(done); done += 1) {
      await send(options, context, makeRequest(options, context, knownIds));
      await context.pause(context.random.below(40));
    }
  },
});

/** A user who sees one place only need not name it. */
const placeOf = (
  { level }: Scope,
  chosen: Place,
): { readonly sent: Partial<Place>; readonly stored: Place } => {
  if (level === 'COMPANY') return { sent: chosen, stored: chosen };
  if (level === 'DEPARTMENT') return { sent: {}, stored: { branchId: BRANCH, departmentId: DEPARTMENT } };
  const departmentId = chosen.branchId === BRANCH ? chosen.departmentId : DEPARTMENT;
  return { sent: { departmentId }, stored: { branchId: BRANCH, departmentId } };
};

function makeRequest(
  { name, users }: HttpSenderOptions,
  { random, recorder }: ActorContext,
  knownIds: Map<string, string>,
): Request {
  const { scope, userIds } = random.pick(...users);
  const { companyId, level } = scope;
  const isForm = random.chance(20);
  const parts = Array.from({ length: isForm ? 1 : 1 + random.below(MAX_LEADS) }, (_, index) => {
    // The first lead of a request may be one that was sent before: an update. A form cannot take it out of its department.
    const known =
      !isForm && index === 0 && random.chance(20) ? knownIds.get(`${companyId} ${level}`) : undefined;
    const id = known ?? (random.chance(50) ? `${name}-${recorder.next()}` : undefined);
    if (id !== undefined) knownIds.set(`${companyId} ${level}`, id);
    const { sent, stored } = placeOf(scope, random.pick(...PLACES));
    const version = `${name}.${recorder.next()}`;
    return {
      // The same address, because an update of another person is refused.
      lead: { ...(id !== undefined && { id }), ...sent, firstName: version, email: 'ada@example.com' },
      change: { companyId, id: id ?? `unknown-${version}`, state: { ...stored, version } },
    };
  });
  return {
    scope,
    leads: parts.map(({ lead }) => lead),
    changes: parts.map(({ change }) => change),
    userId: userIds[random.below(userIds.length)] ?? '',
    key: `${name}-${recorder.next()}`,
    isForm,
  };
}

async function send(
  { name, installation, toleratesFaults = false }: HttpSenderOptions,
  { recorder, random, pause }: ActorContext,
  request: Request,
): Promise<void> {
  const { token, urls } = installation;
  const authorization = `Bearer ${await token(request.userId)}`;
  const commit = recorder.commit(request.changes);
  for (const deadline = performance.now() + ACKNOWLEDGE_LIMIT_MS; performance.now() < deadline; ) {
    const response = await post(installation, urls[random.below(urls.length)] ?? '', authorization, request);
    if (response && response.status < 300) {
      const { leads }: Receipt = JSON.parse(response.text);
      commit.acknowledge(
        leads.map(({ createdAt }) => Date.parse(createdAt)),
        leads.map(({ id }) => id),
      );
      recorder.count('leads over HTTP', leads.length);
      return;
    }
    recorder.count(`sent leads answered ${response?.status ?? 'not at all'}`);
    const isTransient = response === undefined || isFaultStatus(response.status);
    const isExpected = response ? isTransient && findUndeclared(response) === undefined : toleratesFaults;
    if (!isExpected) recorder.complain(`${name} was refused: ${response?.status} ${response?.text}`);
    if (!isTransient) return commit.refuse();
    await pause(PAUSE_AFTER_FAILURE_MS);
  }
  recorder.complain(`${name} got no answer to its leads for ${ACKNOWLEDGE_LIMIT_MS / 1000} s`);
}

interface Receipt {
  readonly leads: readonly { readonly id: string; readonly createdAt: string }[];
}

async function post(
  installation: Installation,
  url: string,
  authorization: string,
  { leads, key, isForm }: Request,
): Promise<(ReceivedResponse & { readonly text: string }) | undefined> {
  try {
    const [first] = leads;
    const fields = Object.entries(first ?? {}).filter(
      (field): field is [string, string] => field[1] !== null,
    );
    const response = await fetch(`${url}${LEADS_PATH}`, {
      method: 'POST',
      headers: {
        authorization,
        'idempotency-key': key,
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      body: isForm ? new URLSearchParams(fields) : JSON.stringify(leads.length === 1 ? first : leads),
      signal: timeoutSignal(installation),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch {
    return undefined;
  }
}

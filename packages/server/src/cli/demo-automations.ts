/** The automations of `leadtap demo`. Their last day is played through the endpoints, by a clock that is behind; then they go on. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOOKS_PATH, LEADS_PATH, NEW_LEADS_PATH, type SubscribedHook } from '@leadtap/contract';
import type { TokenScope } from '../accounts/records.ts';
import type { Service } from '../app.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import { makeFormBody, toRefusedBody } from './demo-data.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** When the form sent leads. The webhook takes 0.1 s of real time for each. */
const FORM_MS = [22, 15, 9, 4].map((hours) => hours * HOUR_MS);
/** Before this, polls are written together, so that they have no interval. */
const REGULAR_MS = 120 * MINUTE_MS;
const INTERVAL_MS = 5 * MINUTE_MS;
const STOPPED_MS = HOUR_MS;
const REFUSED_MS = 25 * MINUTE_MS;
const LAST_FORM_MS = 15 * MINUTE_MS;
/** Until the webhook has accepted the leads. On a slow machine it is sent them later, by the clock of the demo. */
const MAX_WAIT_MS = 1000;
const LOOK_MS = 5;
const HOLD_S = 50;
const PAUSE_MS = 5000;

export class DemoClock {
  readonly #clock: Clock;
  #behindMs = DAY_MS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly now: Clock = () => this.#clock() - this.#behindMs;

  /** It goes forward only. */
  setBehind(ms: number): void {
    this.#behindMs = Math.min(this.#behindMs, ms);
  }
}

/** What the webhook of the demo sends to: it accepts everything. Its origin is allowed, and no other one of this machine. */
export async function startReceiver() {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export interface Automations {
  readonly baseUrl: string;
  readonly receiver: string;
  readonly clock: DemoClock;
  readonly service: Pick<Service, 'store' | 'connections'>;
  readonly issue: (name: string, scopes?: readonly TokenScope[]) => Promise<string>;
}

export type Poll = (prefer?: string) => Promise<void>;

/** A client that follows the links. */
function createPoller(baseUrl: string, token: string, since: number): Poll {
  let url = `${baseUrl}${NEW_LEADS_PATH}?since=${toIso(since)}`;
  return async (prefer = '') => {
    const headers = { authorization: `Bearer ${token}`, ...(prefer && { prefer }) };
    const response = await fetch(url, { headers });
    await response.arrayBuffer();
    url = /^<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1] ?? url;
  };
}

async function post<Answer>(url: string, token: string, body: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await response.json()) as Answer;
}

/**
 * One that polls and is well, a webhook that is well, one that stopped an hour ago, and a form whose field was renamed. Returns the one that
 * polls.
 */
export async function playLastDay({ baseUrl, receiver, clock, service, issue }: Automations): Promise<Poll> {
  const [n8nToken, makeToken, zapierToken, formToken] = await Promise.all([
    issue('n8n'),
    issue('Make'),
    issue('Zapier'),
    issue('Web form', ['leads:write']),
  ]);
  const pollN8n = createPoller(baseUrl, n8nToken, 0);
  const pollMake = createPoller(baseUrl, makeToken, clock.now() + DAY_MS - REGULAR_MS);
  const subscription = { url: `${receiver}/zapier`, name: 'Zapier', send: 'lead' };
  const { id } = await post<SubscribedHook>(`${baseUrl}${HOOKS_PATH}`, zapierToken, subscription);
  const send = (body: unknown) => post(`${baseUrl}${LEADS_PATH}`, formToken, body);

  const sendLeads = async () => {
    await send([makeFormBody(), makeFormBody()]);
    await untilAccepted(service, id);
  };

  for (const behindMs of FORM_MS) {
    clock.setBehind(behindMs);
    await sendLeads();
    await pollN8n();
  }
  for (let behindMs = REGULAR_MS; behindMs >= 0; behindMs -= INTERVAL_MS) {
    clock.setBehind(behindMs);
    if (behindMs === REFUSED_MS) await send(toRefusedBody(makeFormBody()));
    if (behindMs === LAST_FORM_MS) await sendLeads();
    await pollN8n();
    if (behindMs >= STOPPED_MS) await pollMake();
    await service.connections.flush();
  }
  return pollN8n;
}

async function untilAccepted({ store }: Pick<Service, 'store'>, hookId: string): Promise<void> {
  const { latestStamp } = await store.status();
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += LOOK_MS) {
    const hook = await store.hooks.find(hookId);
    if (!hook || hook.announcedThrough >= latestStamp) return;
    await sleep(LOOK_MS);
  }
}

/** Until the signal is aborted. A poll that is held then is answered when the service stops. */
export async function continuePolling(poll: Poll, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await poll(`wait=${HOLD_S}`).catch(() => undefined);
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** `{base_url}/automation/connections`: all ways in and out, what became of a lead, the log, and what a person can do. */
import type { IncomingMessage } from 'node:http';
import {
  CONNECTION_HANDLED_PATH,
  CONNECTION_LOG_PATH,
  CONNECTION_PATH,
  CONNECTION_SEND_PATH,
  CONNECTIONS_PATH,
  type ConnectionLog,
  type Connections,
  DOOR_ID,
  type LeadConnections,
  UNASSIGNED_ID,
} from '@leadtap/contract';
import { findTextProblem } from '../accounts/organisation-fields.ts';
import { type BodyRule, readBody } from '../http/body.ts';
import type { CallerEndpoint } from '../http/endpoint.ts';
import { type Exchange, jsonPayload, type Payload } from '../http/exchange.ts';
import { searchOf } from '../http/headers.ts';
import { type Caller, createIdentification } from '../http/identify.ts';
import { ProblemError } from '../http/problems.ts';
import { invalidQuery, parametersOf, parseLimit, parseOptional, parseTime } from '../http/query.ts';
import { createReadEndpoint, type ReadEndpointOptions } from '../http/read-endpoint.ts';
import { type PollingUser, scopeOf } from '../leads/access.ts';
import type { LeadScope } from '../leads/record.ts';
import { isJsonObject } from '../lib/json.ts';
import { listOutcomes } from './lead-outcome.ts';
import { toLogEntry } from './log-entry.ts';
import { type ReportSources, readMoment, readReport } from './report.ts';
import { judge } from './rules.ts';
import type { Connection, ConnectionStore } from './store.ts';

export interface ConnectionEndpointOptions extends ReadEndpointOptions {
  readonly sources: ReportSources;
  /** Whether there is one company: what is of no company is shown to its users, too. */
  readonly isOnlyCompany: () => Promise<boolean>;
  /** Leads wait for webhooks. */
  readonly onSendAgain: () => void;
}

/** A list of 1,000 ids of 200 characters. */
const MAX_BYTES = 256 * 1024;
const MAX_LEADS = 1000;
const MAX_NAME_LENGTH = 100;

const CHANGE: BodyRule = {
  mediaTypes: ['application/json'],
  mediaTypeDetail: 'Send the change as `Content-Type: application/json` in UTF-8.',
  maxBytes: MAX_BYTES,
  sizeDetail: `Send at most ${MAX_BYTES / 1024} KiB.`,
};

const requireScope = (user: PollingUser): LeadScope => {
  const scope = scopeOf(user);
  if (!scope) throw new Error(`user has the access level ${user.accessLevel} but no such place`);
  return scope;
};

const seesCompany = ({ accessLevel }: PollingUser): boolean => accessLevel === 'COMPANY';

const isListed = (connection: Connection | undefined, user: PollingUser): connection is Connection =>
  connection !== undefined &&
  (seesCompany(user) ? connection.companyId === user.companyId : connection.userId === user.id);

/** The leads that a connection of the list is owed, newest first. Undefined: it is not listed. */
export async function listOwed(
  store: ConnectionStore,
  user: PollingUser,
  id: string,
  { before, limit }: { readonly before: number | undefined; readonly limit: number },
): Promise<readonly number[] | undefined> {
  if (id === UNASSIGNED_ID && seesCompany(user))
    return store.listUnassignedLeads(user.companyId, before, limit);
  const connection = await store.find(id);
  return isListed(connection, user) ? store.listOwed(connection.id, before, limit) : undefined;
}

export function createConnectionEndpoints(options: ConnectionEndpointOptions): CallerEndpoint[] {
  const { sources, isOnlyCompany, onSendAgain, observeRefusal, flushUser } = options;
  const store: ConnectionStore = sources.connections;
  const writers = createIdentification({ ...options, scope: 'leads:read' });

  async function list(exchange: Exchange, { user }: Caller): Promise<Found<Connections | LeadConnections>> {
    const lead = parametersOf(searchOf(exchange.request.url))['lead'];
    if (lead !== undefined) return findLead(lead, user);
    const isCompany = seesCompany(user);
    const { rows: _, ...report } = await readReport(sources, {
      ...(isCompany ? { companyId: user.companyId } : { userId: user.id }),
      scope: requireScope(user),
      hasDoor: isCompany && (await isOnlyCompany()),
    });
    return { body: report };
  }

  async function findLead(lead: string | string[], user: PollingUser): Promise<Found<LeadConnections>> {
    if (typeof lead !== 'string')
      throw invalidQuery({ lead: { detail: 'Give it once: the `id` of a lead.' } });
    const outcomes = await store.findLead(user.companyId, lead, requireScope(user));
    if (!outcomes) return { missing: 'Your user sees no lead with this id.' };
    const shown = seesCompany(user) ? outcomes : outcomes.filter(({ userId }) => userId === user.id);
    return { body: { lead, out: listOutcomes(shown) } };
  }

  async function readLog(exchange: Exchange, { user }: Caller): Promise<Found<ConnectionLog>> {
    const query = parametersOf(searchOf(exchange.request.url));
    const before = parseOptional(query['before'], parseTime);
    const limit = parseLimit(query['limit']);
    if ('detail' in before || 'detail' in limit) throw invalidQuery({ before, limit });
    const connection = await store.find(idOf(exchange.request, 1));
    if (!isListed(connection, user)) return { missing: NO_CONNECTION };
    const entries = await store.readLog(connection.id, {
      ...{ before: before.value, limit: limit.value, scope: requireScope(user) },
    });
    const now = sources.clock();
    return {
      body: { name: connection.name, log: entries.map((entry) => toLogEntry(entry, connection, now)) },
    };
  }

  /** Writing needs a token of the connection's own user: all others use a command. */
  async function findOwn(exchange: Exchange, caller: Caller, segments: number): Promise<Connection> {
    await flushUser?.(caller.user.id);
    // The account may have changed while the body arrived.
    const { user } = await writers.identifyAgain(exchange);
    const connection = await store.find(idOf(exchange.request, segments));
    if (connection?.userId !== user.id) throw noSuchConnection();
    return connection;
  }

  async function change(exchange: Exchange, caller: Caller): Promise<Payload> {
    const { name, paused } = parseChange(await readBody(exchange, CHANGE));
    const { id, kind } = await findOwn(exchange, caller, 0);
    if (paused !== undefined && kind !== 'webhook') throw new ProblemError('connection-polls');
    const by = byOf(caller.user);
    if (name !== undefined) {
      const renamed = await store.rename(id, name, by);
      if (renamed === 'name-in-use') throw invalidChange('another connection of your user has this name');
    }
    if (paused !== undefined) await store.setPaused(id, paused, by);
    onSendAgain();
    const connection = await store.find(id);
    return noStore(
      exchange,
      jsonPayload(exchange, 200, { id, name: connection?.name, paused: connection?.pausedAt !== null }),
    );
  }

  async function send(exchange: Exchange, caller: Caller): Promise<Payload> {
    const leads = parseSend(await readBody(exchange, CHANGE));
    const { id, kind } = await findOwn(exchange, caller, 1);
    if (kind !== 'webhook') throw new ProblemError('connection-polls');
    const count = await store.sendAgain(id, leads, byOf(caller.user));
    onSendAgain();
    return noStore(exchange, jsonPayload(exchange, 202, { leads: count ?? 0 }));
  }

  async function handle(exchange: Exchange, caller: Caller): Promise<Payload> {
    const id = idOf(exchange.request, 1);
    const { user } = caller;
    if (id === UNASSIGNED_ID && seesCompany(user)) await store.handleUnassigned(user.companyId);
    else if (id === DOOR_ID && seesCompany(user) && (await isOnlyCompany())) await store.handleDoor();
    else await markHandled(sources, (await findOwn(exchange, caller, 1)).id, byOf(user));
    return noStore(exchange, { status: 204, body: undefined });
  }

  const observe: CallerEndpoint['observe'] = ({ problem }) =>
    observeRefusal?.(problem?.parts.violatedPolicies ?? []);
  const writing = { callers: writers, observe };
  return [
    createReadEndpoint(CONNECTIONS_PATH, options, list, respond),
    createReadEndpoint(CONNECTION_LOG_PATH, options, readLog, respond),
    { ...writing, path: CONNECTION_PATH, methods: ['PATCH'], body: CHANGE, answer: change },
    { ...writing, path: CONNECTION_SEND_PATH, methods: ['POST'], body: CHANGE, answer: send },
    { ...writing, path: CONNECTION_HANDLED_PATH, methods: ['POST'], answer: handle },
  ];
}

/** What waits is taken if it is silent, new or ended: it was switched off on purpose. False: there is no such connection. */
export async function markHandled(sources: ReportSources, id: string, by: string): Promise<boolean> {
  const { connections, acceptedKeys } = sources;
  const moment = await readMoment(sources);
  return connections.markHandled(
    { id, limit: 1, now: moment.now, since: moment.since, acceptedKeys },
    (facts) => {
      const state = judge(facts, { ...moment, lastStamp: facts.lastStamp })?.state;
      return state === 'silent' || state === 'new' || state === 'ended';
    },
    by,
  );
}

const byOf = ({ id }: PollingUser): string => id;

/** The segment of the path that is so many before the last one. */
function idOf({ url = '' }: IncomingMessage, after: number): string {
  const [path = ''] = url.split('?', 1);
  return path.split('/').at(-1 - after) ?? '';
}

const noStore = (exchange: Exchange, payload: Payload): Payload => {
  if (!exchange.headers.includes('cache-control')) exchange.headers.push('cache-control', 'no-store');
  return payload;
};

const NO_CONNECTION = 'Your user has no connection with this id.';

const noSuchConnection = (): ProblemError => new ProblemError('no-such-resource', { detail: NO_CONNECTION });

/** What is missing is said after the caller was checked again: a token that was revoked meanwhile gets 401. */
type Found<Body> = { readonly body: Body } | { readonly missing: string };

function respond(exchange: Exchange, found: Found<object>): Payload {
  if ('missing' in found) throw new ProblemError('no-such-resource', { detail: found.missing });
  return jsonPayload(exchange, 200, found.body);
}

const invalidChange = (detail: string): ProblemError => new ProblemError('malformed-request', { detail });

function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    if (isJsonObject(value)) return value;
  } catch {
    // Said below.
  }
  throw invalidChange('The body must be a JSON object, such as {"name":"CRM"}.');
}

function parseChange(bytes: Buffer): { readonly name?: string; readonly paused?: boolean } {
  const { name, paused } = parseObject(bytes);
  if (paused !== undefined && typeof paused !== 'boolean')
    throw invalidChange('`paused` must be true or false.');
  if (name === undefined) return paused === undefined ? {} : { paused };
  const problem =
    typeof name === 'string' && name.length <= MAX_NAME_LENGTH ? findTextProblem(name) : 'is no name';
  if (typeof name !== 'string' || name.trim() === '' || problem !== undefined)
    throw invalidChange(`\`name\` must be a text of 1 to ${MAX_NAME_LENGTH} characters in one line.`);
  return { name: name.trim(), ...(paused !== undefined && { paused }) };
}

function parseSend(bytes: Buffer): readonly string[] | 'missed' {
  const { leads, missed } = parseObject(bytes);
  if (missed === true && leads === undefined) return 'missed';
  if (
    Array.isArray(leads) &&
    leads.length > 0 &&
    leads.length <= MAX_LEADS &&
    leads.every((id) => typeof id === 'string')
  )
    return leads;
  throw invalidChange(`Send {"missed":true}, or {"leads":["ID"]} with 1 to ${MAX_LEADS} ids.`);
}

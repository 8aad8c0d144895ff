/** One request and its response. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProblemCode } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import { shownNames } from '../leads/shown-names.ts';
import type { MediaType } from './body.ts';
import { disconnectSignal } from './connections.ts';
import {
  clientAddress,
  commonHeaders,
  type HeaderList,
  type IsTrustedProxy,
  JSON_MEDIA_TYPE,
  matchesEtag,
  requestedBaseUrl,
  untrustedProxyOf,
} from './headers.ts';
import { isUnavailability, type ProblemError } from './problems.ts';

/** The parts of an exchange that depend on where its endpoint is mounted. */
export interface Site {
  /** The path of `{base_url}`. */
  readonly basePath: string;
  /** The configured `{base_url}`. */
  readonly publicUrl: string | undefined;
  readonly isTrusted: IsTrustedProxy | undefined;
  readonly logger: RequestLogger | undefined;
  readonly onUntrustedProxy: ((address: string) => void) | undefined;
}

/** A request from its arrival to the end of its response: what is known of it at each moment. */
export class Exchange {
  readonly startedAt = performance.now();
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** For `X-Request-Id`. */
  readonly id: string;
  /** Of the response. */
  readonly headers: HeaderList;
  /** Of the body, if the endpoint accepts one. */
  mediaType: MediaType | undefined;
  /** Verified, and not revoked unless its user was removed. */
  token: VerifiedToken | undefined;
  /** How long the request waited for a lead; undefined if it did not wait. */
  waitedMs: number | undefined;
  problem: ProblemError | undefined;
  /** Of the response. 499 if the client disconnected before it. */
  status = 0;
  /** The number of leads in the response, or of those that were written. */
  leads: number | undefined;
  /** From the arrival of the request to the last byte of the response. */
  durationMs = 0;
  /** False if the client disconnected while the response was being sent. */
  isComplete = true;
  readonly #site: Site;
  #disconnectSignal: AbortSignal | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, site: Site) {
    this.request = request;
    this.response = response;
    this.#site = site;
    this.id = requestIdOf(request);
    this.headers = commonHeaders(this.id);
  }

  /** The client's address. Empty if the connection was reset before it was first read. */
  get address(): string {
    return clientAddress(this.request, this.#site.isTrusted);
  }

  /** The `{base_url}` as the client sees it. */
  baseUrl(): string {
    const { publicUrl, basePath, isTrusted, onUntrustedProxy } = this.#site;
    if (publicUrl !== undefined) return publicUrl;
    const proxy = untrustedProxyOf(this.request, isTrusted);
    if (proxy !== undefined) onUntrustedProxy?.(proxy);
    return requestedBaseUrl(this.request, basePath, isTrusted);
  }

  /** Aborted when the client disconnects. */
  disconnected(): AbortSignal {
    this.#disconnectSignal ??= disconnectSignal(this.request, this.response);
    return this.#disconnectSignal;
  }

  /** Adds the id of the request to each line. */
  get log(): ErrorLogger {
    const { logger } = this.#site;
    const requestId = this.id;
    return {
      error: (line, message) => logger?.error({ requestId, ...line }, message),
      debug: (line, message) => logger?.debug?.({ requestId, ...line }, message),
    };
  }
}

export interface Payload {
  readonly status: number;
  /** A short text is sent with the headers in one write. */
  readonly body: Buffer | string | undefined;
  /** The number of leads in the response, or of those that were written. For the log. */
  readonly leads?: number;
}

/** The status in log and metrics of a request whose client disconnected before the response; nginx uses the same. */
export const CLIENT_CLOSED_REQUEST = 499;

/** A request that was answered with a problem. */
export interface RefusedRequest {
  readonly code: ProblemCode;
  readonly status: number;
  readonly requestId: string;
  /** The route, not the path that was sent. */
  readonly path: string;
}

/** A body that no cache may store. */
export function jsonPayload({ headers }: Exchange, status: number, value: object): Payload {
  const body = JSON.stringify(value);
  headers.push('cache-control', 'no-store', 'content-type', JSON_MEDIA_TYPE);
  headers.push('content-length', String(Buffer.byteLength(body)));
  return { status, body };
}

interface CachedBody {
  readonly mediaType: string;
  readonly etag: string;
  readonly body: string | Buffer;
}

/** Adds the headers of a body, and answers with 304 if the client has it already. */
export function cachedPayload(
  { request, headers }: Exchange,
  { mediaType, etag, body }: CachedBody,
): Payload {
  headers.push('etag', etag);
  const isNotModified = matchesEtag(request.headers['if-none-match'], etag);
  const status = isNotModified ? 304 : 200;
  // RFC 9110: a HEAD has the headers of the 200, also with status 304.
  if (isNotModified && request.method !== 'HEAD') return { status, body: undefined };
  headers.push('content-type', mediaType, 'content-length', String(Buffer.byteLength(body)));
  return { status, body };
}

export function redirect({ headers }: Exchange, location: string): Payload {
  headers.push('location', location, 'content-length', '0');
  return { status: 302, body: undefined };
}

/** The part of a pino logger that the endpoint uses. */
export interface RequestLogger {
  info(line: object, message: string): void;
  error(line: object, message: string): void;
  /** Receives the repetitions of what level `error` gets at most once a minute. */
  debug?(line: object, message: string): void;
}

/** Request ids of clients are accepted if they are safe in a header and in a log line. */
const SAFE_ID = /^[\w.:+/=-]{1,128}$/;

/** The client's `X-Request-Id`, or a new id. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && SAFE_ID.test(given) ? given : randomUUID();
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** The trace id of a W3C `traceparent`. A malformed one is ignored, as the standard requires. */
function traceIdOf(traceparent: string | string[] | undefined): string | undefined {
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}

/** The message of the line if the client disconnected during the response. Clients may do so at any time: it is no error. */
export const CLIENT_DISCONNECTED = 'client disconnected during the response';

/**
 * The log line of one request. It contains no token, address, query string or lead data. The client is identified by the id of its
 * token. `route` is not the path that was sent: people put tokens and addresses into paths by mistake, such as
 * `/automation/new-leads&access_token=…`.
 */
export function requestLine(exchange: Exchange, route: string | undefined) {
  const { request, waitedMs, problem } = exchange;
  return {
    requestId: exchange.id,
    method: request.method,
    path: route,
    status: exchange.status,
    durationMs: roundToMicroseconds(exchange.durationMs),
    waitedMs: waitedMs === undefined ? undefined : roundToMicroseconds(waitedMs),
    code: problem?.code,
    fields: fieldsOf(problem),
    leads: exchange.leads,
    tokenId: exchange.token?.tokenId,
    traceId: traceIdOf(request.headers['traceparent']),
  };
}

/** The fields that a 422 lists, so that the operator sees what a sender does wrong. */
function fieldsOf(problem: ProblemError | undefined): string[] | undefined {
  const errors = problem?.parts.errors?.flatMap((error) => ('field' in error ? [error.field] : []));
  if (errors === undefined || errors.length === 0) return undefined;
  return [...shownNames(errors.map((field) => field ?? 'lead'))];
}

const roundToMicroseconds = (ms: number): number => Math.round(ms * 1000) / 1000;

export type ErrorLogger = Pick<RequestLogger, 'error' | 'debug'>;

/** Logs the cause of a 5xx for the operator. */
export type CauseLog = (problem: ProblemError, log: ErrorLogger) => void;

const PERIOD_MS = 60_000;
const MAX_REMEMBERED = 100;

/**
 * An unexpected error is logged each time. An unavailable database or identity provider is logged once a minute at level
 * `error` and otherwise at level `debug`: every poll fails then, and any client can cause it with a token that needs the keys
 * of an unreachable identity provider.
 */
export function createCauseLog(): CauseLog {
  const loggedAt = new Map<string, number>();
  const isDue = (message: string): boolean => {
    const now = performance.now();
    if (now - (loggedAt.get(message) ?? Number.NEGATIVE_INFINITY) < PERIOD_MS) return false;
    if (loggedAt.size >= MAX_REMEMBERED) loggedAt.clear();
    loggedAt.set(message, now);
    return true;
  };
  return (problem, log) => {
    const { code, cause, message, statusCode } = problem;
    // While it stops, the service is unavailable without a cause.
    if (statusCode < 500 || (code === 'unavailable' && cause === undefined)) return;
    const level = !isUnavailability(cause) || isDue(cause.message) ? 'error' : 'debug';
    log[level]?.({ err: cause ?? problem, code }, message);
  };
}

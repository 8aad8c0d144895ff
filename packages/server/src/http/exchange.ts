/** One request and its response. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProblemCode } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import type { MediaType } from './body.ts';
import { disconnectSignal } from './connections.ts';
import { clientAddress, type IsTrustedProxy, requestedBaseUrl, untrustedProxyOf } from './forwarded.ts';
import { commonHeaders, type HeaderList, JSON_MEDIA_TYPE, matchesEtag } from './headers.ts';
import type { ProblemError } from './problems.ts';
import { type ErrorLogger, type RequestLogger, requestIdOf } from './request-log.ts';

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

export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** For `X-Request-Id`. */
  readonly id: string;
  /** The client's address, read at the start of the request: after a reset it is unknown. Empty if unknown. */
  readonly address: string;
  /** Of the response. */
  readonly headers: HeaderList;
  /** Of the body, if the endpoint accepts one. */
  mediaType: MediaType | undefined;
  /** Verified, and not revoked. */
  token: VerifiedToken | undefined;
  /** How long the request waited for a lead; undefined if it did not wait. */
  waitedMs: number | undefined;
  problem: ProblemError | undefined;
  readonly #site: Site;
  #disconnectSignal: AbortSignal | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, site: Site) {
    this.request = request;
    this.response = response;
    this.#site = site;
    this.id = requestIdOf(request);
    this.address = clientAddress(request, site.isTrusted);
    this.headers = commonHeaders(this.id);
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
  /** Its signature is valid. Absent: there was no such token. */
  readonly token: VerifiedToken | undefined;
}

/** A body that no cache may store. */
export function jsonPayload({ headers }: Exchange, status: number, value: object): Payload {
  const body = Buffer.from(JSON.stringify(value));
  headers.push('cache-control', 'no-store', 'content-type', JSON_MEDIA_TYPE);
  headers.push('content-length', String(body.length));
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

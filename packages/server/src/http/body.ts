/** Reads the body of a request, within limits. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { MAX_INTAKE_BYTES } from '@leadtap/contract';
import { ClientDisconnectedError } from '../sql/errors.ts';
import { isHeaderRepeated, parseParameter, splitUnquoted } from './headers.ts';
import { ProblemError } from './problems.ts';

export type MediaType = 'application/json' | 'application/x-www-form-urlencoded' | 'multipart/form-data';

/** The bodies that an endpoint accepts. */
export interface BodyRule {
  readonly mediaTypes: readonly MediaType[];
  readonly maxBytes: number;
  /** What the client should do after a 415, or a 413. Default: the texts of the contract. */
  readonly mediaTypeDetail?: string;
  readonly sizeDetail?: string;
  /** Whether the body of this request is not read, so that it may be anything. */
  readonly isIgnored?: (request: IncomingMessage) => boolean;
}

/** Throws 415 or 413 for a body that is not accepted. Nothing of it is read yet. */
export function requireBody(request: IncomingMessage, rule: BodyRule): MediaType | undefined {
  if (rule.isIgnored?.(request)) return undefined;
  const given = mediaTypeOf(request);
  const mediaType = rule.mediaTypes.find((accepted) => accepted === given);
  if (!mediaType) throw new ProblemError('unsupported-media-type', withDetail(rule.mediaTypeDetail));
  if ((declaredBytes(request) ?? 0) > rule.maxBytes) throw payloadTooLarge(rule);
  return mediaType;
}

const withDetail = (detail: string | undefined) => (detail === undefined ? {} : { detail });

const payloadTooLarge = ({ sizeDetail }: BodyRule): ProblemError =>
  new ProblemError('payload-too-large', withDetail(sizeDetail));

/** Of the body, in lower case. Undefined if the body is not plain UTF-8, or has several types. */
function mediaTypeOf(request: IncomingMessage): string | undefined {
  const { headers } = request;
  const [name = '', ...parameters] = splitUnquoted(headers['content-type'] ?? '', ';');
  // Other parameters are ignored.
  const charsets = parameters.map(parseParameter).filter((parameter) => parameter.name === 'charset');
  const charset = charsets[0]?.value ?? 'utf-8';
  const encoding = headers['content-encoding'] ?? 'identity';
  const isPlainUtf8 = /^utf-?8$/i.test(charset) && encoding.toLowerCase() === 'identity';
  const isAmbiguous = charsets.length > 1 || isHeaderRepeated(request, 'content-type');
  return isPlainUtf8 && !isAmbiguous ? name.trim().toLowerCase() : undefined;
}

/** Undefined for a chunked body. */
export function declaredBytes({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

/** The whole body. Throws 413 as soon as it is too large, and leaves the rest unread. */
export async function readBody(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  rule: BodyRule,
): Promise<Buffer> {
  // Its `close` event is over: a check before this one has waited, for a database or for Redis.
  if (request.destroyed) throw new ClientDisconnectedError('the client has disconnected before its body');
  if (request.readableEnded)
    throw new Error('the body was read before the handler was called; mount it before body parsers');
  if (awaitingContinue.delete(response)) response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = () => {
      request.off('data', onData).off('end', onEnd).off('close', onClose);
    };
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= rule.maxBytes) return;
      stop();
      request.pause();
      reject(payloadTooLarge(rule));
    };
    const onEnd = () => {
      stop();
      resolve(Buffer.concat(chunks));
    };
    const onClose = () => {
      stop();
      reject(new ClientDisconnectedError('the client has disconnected before the end of its body'));
    };
    // The error of an aborted request is followed by `close`. Without a listener it would be uncaught.
    request.on('error', () => undefined);
    request.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

const awaitingContinue = new WeakSet<ServerResponse>();

/**
 * `Expect: 100-continue`: a client that waits for 100 before it sends its body gets it after the checks, or else the error. Node's
 * default sends 100 to every client, before the token is checked.
 */
export function delayContinue(server: Server): void {
  server.on('checkContinue', (request, response) => {
    awaitingContinue.add(response);
    server.emit('request', request, response);
  });
}

/** Whether the rest of the body is or may be too large to be read only to discard it. */
export const hasLongUnreadBody = (request: IncomingMessage): boolean =>
  !request.complete && (declaredBytes(request) ?? Number.POSITIVE_INFINITY) > MAX_INTAKE_BYTES;

/** As nginx by default waits for more data. */
const LINGER_MS = 1000;

/**
 * Sends the response and discards what the client still sends, for a second at most. If the connection were closed while the
 * client is sending, its system would discard the response. Node closes it after `end`.
 */
export function endAndDiscardBody(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer | string | undefined,
): void {
  if (body) response.write(body);
  const end = () => {
    clearTimeout(timeout);
    response.end();
  };
  const timeout = setTimeout(end, LINGER_MS);
  request.once('end', end).once('close', end).resume();
}

/** Reads and writes headers. */
import type { IncomingMessage } from 'node:http';
import { CLIENT_HEADER, CONSOLE_CLIENT } from '@leadtap/contract';
import { ProblemError } from './problems.ts';

/** Names and values alternate: the form that `response.writeHead` takes fastest. */
export type HeaderList = string[];

export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8';

/** Of every response. `nosniff` keeps browsers from guessing another media type. */
export const commonHeaders = (requestId: string): HeaderList => [
  'x-request-id',
  requestId,
  'x-content-type-options',
  'nosniff',
];

/** A 400 that closes the connection: what follows on it may be a part of this request. */
export function findHeaderProblem(request: IncomingMessage): ProblemError | undefined {
  const detail = findHeaderFault(request);
  if (detail === undefined) return undefined;
  return new ProblemError('malformed-request', { detail, headers: { connection: 'close' } });
}

/**
 * What is wrong with the headers, for the client. A proxy in front may have used the other one of two headers, or have taken
 * another part of the bytes for the body. Node refuses two lengths, and a length beside chunks.
 */
function findHeaderFault(request: IncomingMessage): string | undefined {
  const { headers, httpVersion } = request;
  // HTTP/1.0 does not have it.
  if (headers.host === undefined && httpVersion === '1.1') return 'Send a Host header.';
  if (isHeaderRepeated(request, 'host')) return 'Send one Host header, not several.';
  if (isHeaderRepeated(request, 'authorization')) return 'Send one Authorization header, not several.';
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked')
    return 'Send the body with a Content-Length, or with `Transfer-Encoding: chunked` alone.';
  return undefined;
}

/** Node's `headers` join or drop repeated headers. A proxy may have used another one of them. */
export function isHeaderRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    // Every poll is checked, and few names have the same length.
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count += 1;
  return count > 1;
}

/** A request of the console. It is no consumer: a tab that is closed would be reported as a consumer that has stopped polling. */
export const isConsoleRequest = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers[CLIENT_HEADER] === CONSOLE_CLIENT;

/** RFC 9110: If-None-Match compares weakly, may list several tags, and `*` matches any. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/**
 * The parts between the separators that are not in a quoted string (RFC 9110, 5.6). A quoted string that is not closed ends with
 * the text. The text is read once: a client chooses up to 16 kB of it.
 */
export function splitUnquoted(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isQuoted && character === '\\') at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

export interface Parameter {
  /** In lower case. */
  readonly name: string;
  /** Without the quotes of a quoted string. Empty if there is none. */
  readonly value: string;
}

/** `name=value`. It is not validated: the caller compares name and value with those that it knows. */
export function parseParameter(text: string): Parameter {
  const equals = text.indexOf('=');
  const end = equals === -1 ? text.length : equals;
  const value = text.slice(end + 1).trim();
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  return { name: text.slice(0, end).trim().toLowerCase(), value: isQuoted ? value.slice(1, -1) : value };
}

/** The query string of a URL. */
export function searchOf(url = ''): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

let lastDate = { second: Number.NaN, text: '' };

/** `Mon, 02 Mar 2026 09:30:00 GMT`. Formatted once a second, as Node does for its own Date header. */
export function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastDate.second) lastDate = { second, text: new Date(ms).toUTCString() };
  return lastDate.text;
}

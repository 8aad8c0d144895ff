/** Reads headers. Values with quoted strings (RFC 9110, 5.6) are read once: a client chooses up to 16 kB of them. */
import type { IncomingMessage } from 'node:http';

/** Node's `headers` join or drop repeated headers. A proxy may have used another one of them. */
export function isHeaderRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    // Every poll is checked, and few names have the same length.
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count += 1;
  return count > 1;
}

/** The parts between the separators that are not in a quoted string. A quoted string that is not closed ends with the text. */
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

/** Finds the refused requests whose bodies name a person: for `leads erase`. */
import { normalizeEmail, normalizePhone } from '../leads/removal.ts';

export interface SearchedPerson {
  readonly ids: readonly string[];
  readonly emails: readonly string[];
  readonly phones: readonly string[];
}

/** Form services put JSON into a field of a form, and JSON as a text into JSON. */
const MAX_LAYERS = 3;

const UNICODE = /\\u([0-9a-f]{4})/gi;
const PERCENT = /(?:%[0-9a-f]{2})+/gi;

/** As far as it is encoded so. A part that is not stays as it is. */
const decodeJson = (text: string): string =>
  text
    .replace(UNICODE, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    .replace(/\\(["\\/])/g, '$1')
    .replace(/\\[nrt]/g, ' ');

const decodeForm = (text: string): string =>
  text
    .replaceAll('+', ' ')
    .replace(PERCENT, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'));

/** The text of a body, and the texts that it encodes. */
function textsOf(body: Buffer): readonly string[] {
  let layer = [body.toString('utf8')];
  const texts = new Set(layer);
  for (let depth = 0; depth < MAX_LAYERS; depth += 1) {
    layer = layer.flatMap((text) => [decodeJson(text), decodeForm(text)]).filter((text) => !texts.has(text));
    for (const text of layer) texts.add(text);
  }
  return [...texts];
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

/** Not a part of another address. */
const emailPattern = (email: string): RegExp =>
  new RegExp(`(?<![\\w.+%-])${escapeRegExp(email)}(?![\\w-]|\\.\\w)`, 'iu');

/** The value of a field whose name ends with `id` or `token`, or the end of a path. */
const idPattern = (id: string): RegExp =>
  new RegExp(`(?:(?:id|token)["']?\\s{0,8}[:=]?\\s{0,8}["']?|\\/)${escapeRegExp(id)}(?![\\w-])`, 'i');

/** Digits with what people write between them. */
const NUMBERS = /\d[\d\s()./–-]*/g;

const hasPhone = (text: string, phones: readonly string[]): boolean =>
  (text.match(NUMBERS) ?? []).some((found) => {
    const spellings = [found.replace(/\D/g, ''), normalizePhone(found)];
    return phones.some((phone) => spellings.some((digits) => digits.includes(phone)));
  });

/** Whether a body contains one of the values, in any encoding of JSON and forms. */
export function createRefusedMatcher({ ids, emails, phones }: SearchedPerson): (body: Buffer) => boolean {
  const patterns = [...emails.map(normalizeEmail).map(emailPattern), ...ids.map(idPattern)];
  const numbers = phones.map(normalizePhone);
  return (body) =>
    textsOf(body).some((text) => patterns.some((pattern) => pattern.test(text)) || hasPhone(text, numbers));
}

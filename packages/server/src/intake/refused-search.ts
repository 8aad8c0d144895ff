/** Finds the refused requests whose bodies name a person: for `leads erase`. */
import { type Contact, normalizeEmail, normalizePhone } from '../leads/removal.ts';
import { isJsonObject } from '../lib/json.ts';
import { mediaTypeOf, parseJsonItem, readFields } from './body.ts';
import type { RefusedLeadWithBody } from './store.ts';

/** A string or number in a body, or a name of a field. */
interface Value {
  readonly text: string;
  /** Of its field: the name, and the label of an answer. */
  readonly names: readonly string[];
}

/** What a body contains, in every encoding of JSON and forms. */
export interface SearchableBody {
  readonly values: readonly Value[];
  /** What is searched as a text: the body if it cannot be parsed, and each value. */
  readonly texts: readonly string[];
  /** The body as a text if it can be parsed: numbers with commas between them are several. */
  readonly source: readonly string[];
  /** The field that a name stands for, as the token says. */
  readonly map: Readonly<Record<string, string>>;
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
    .replace(/\\[bfnrt]/g, ' ');

const decodeForm = (text: string): string =>
  text
    .replaceAll('+', ' ')
    .replace(PERCENT, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'));

/** A text, and the texts that it encodes. */
function decodeText(encoded: string): readonly string[] {
  let layer = [encoded];
  const texts = new Set(layer);
  for (let depth = 0; depth < MAX_LAYERS; depth += 1) {
    layer = layer.flatMap((text) => [decodeJson(text), decodeForm(text)]).filter((text) => !texts.has(text));
    for (const text of layer) texts.add(text);
  }
  return [...texts];
}

/** Undefined for a text that is no JSON. */
function parseOrNone(text: string): { readonly json: unknown } | undefined {
  try {
    return { json: parseJsonItem(text) };
  } catch {
    return undefined;
  }
}

const isScalar = (value: unknown): value is string | number =>
  typeof value === 'string' || typeof value === 'number';

/** What form services call the names of answers. */
const LABELS = ['key', 'label', 'name'];

/** Adds the values of a part of a body. No generator: a value in 1,000 levels would pass all of them. */
function collectValues(values: Value[], value: unknown, names: readonly string[], layers = MAX_LAYERS): void {
  if (isScalar(value)) {
    const text = String(value);
    values.push({ text, names });
    const inner = layers > 0 && /^\s*["[{]/.test(text) ? parseOrNone(text) : undefined;
    if (inner) collectValues(values, inner.json, names, layers - 1);
  } else if (Array.isArray(value)) {
    for (const item of value) collectValues(values, item, names, layers);
  } else if (isJsonObject(value)) {
    const labels = LABELS.map((name) => value[name]).filter((label) => typeof label === 'string');
    for (const [name, item] of Object.entries(value)) {
      values.push({ text: name, names });
      collectValues(values, item, [...labels, name], layers);
    }
  }
}

/** Decodes a body as the intake does. Undefined if it cannot be parsed. */
async function readValues({ body, mediaType }: RefusedLeadWithBody): Promise<Value[] | undefined> {
  const type = mediaTypeOf(mediaType);
  const values: Value[] = [];
  if (type === 'application/json') {
    const parsed = parseOrNone(new TextDecoder().decode(body));
    if (!parsed) return undefined;
    collectValues(values, parsed.json, []);
    return values;
  }
  try {
    for (const [name, value] of await readFields(type, body, mediaType)) {
      values.push({ text: name, names: [] });
      collectValues(values, value, [name]);
    }
    return values;
  } catch {
    return undefined;
  }
}

/** A body has at most 64 KiB: some milliseconds, or 0.3 s at worst. */
export async function toSearchable(refused: RefusedLeadWithBody): Promise<SearchableBody> {
  const values = await readValues(refused);
  const source = decodeText(refused.body.toString('utf8'));
  const map = refused.answerMap ?? {};
  if (!values) return { values: [], texts: source, source: [], map };
  const texts = new Set(values.map(({ text }) => text));
  return { values, texts: [...new Set([...texts].flatMap(decodeText))], source, map };
}

const MAX_ADDRESS_LENGTH = 320;
/** The end of an address: up to the first character that is not ASCII, and up to one that is no letter. */
const DOMAINS = [/^[\w-]+(?:\.[\w-]+)*/, /^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*/u];

/** Whether a text contains one of the addresses, which is no part of another address. */
function hasEmail(text: string, emails: ReadonlySet<string>): boolean {
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    const rest = text.slice(at + 1, at + MAX_ADDRESS_LENGTH);
    const domains = DOMAINS.flatMap((pattern) => pattern.exec(rest)?.[0] ?? []);
    for (let start = at - 1; start >= 0 && at - start < MAX_ADDRESS_LENGTH; start -= 1) {
      if (/[\s@]/.test(text.charAt(start))) break;
      if (/[\w.+%-]/.test(text.charAt(start - 1))) continue;
      const name = text.slice(start, at);
      if (domains.some((domain) => emails.has(normalizeEmail(`${name}@${domain}`)))) return true;
    }
  }
  return false;
}

/** Digits with what people write between them. */
const NUMBERS = /\d(?:[^\p{L}\d]{0,4}\d)*/gu;
const NUMBERS_IN_SOURCE = /\d[\d\s()./–-]*/g;

/** Whether a text contains one of the values. Its cost does not depend on their number. */
export function createContactMatcher(contact: Contact): (body: SearchableBody) => boolean {
  const emails = new Set(contact.emails.map(normalizeEmail));
  const phones = new Set(contact.phones.map(normalizePhone));
  const lengths = [...new Set([...phones].map(({ length }) => length))];
  /** Not if another digit is next to it, except for a leading 00: that is a longer number, of somebody else. */
  const containsPhone = (text: string): boolean => {
    let digits = '';
    const starts = new Set<number>();
    return (text.match(/\d+/g) ?? []).some((run) => {
      starts.add(digits.length).add(digits.length + (run.startsWith('00') ? 2 : 0));
      digits += run;
      return lengths.some(
        (length) => starts.has(digits.length - length) && phones.has(digits.slice(-length)),
      );
    });
  };
  const hasPhone = (text: string, numbers: RegExp): boolean =>
    lengths.length > 0 &&
    (text.match(numbers) ?? []).some(
      (found) => containsPhone(found) || containsPhone(found.replace(/\( *0 *\)/g, ' ')),
    );
  return ({ values, texts, source }) =>
    values.some(({ text }) => emails.has(normalizeEmail(text)) || phones.has(normalizePhone(text))) ||
    texts.some((text) => hasEmail(text, emails) || hasPhone(text, NUMBERS)) ||
    source.some((text) => hasEmail(text, emails) || hasPhone(text, NUMBERS_IN_SOURCE));
}

/** Of the name, the separators and the spaces before an id in a text. */
const MAX_BEFORE_ID = 256;

/** Whether a text ends with the name of an id and what separates it from its value, or within a path. */
function endsBeforeId(text: string): boolean {
  const name = text.replace(/["']$/, '').trimEnd().replace(/[:=]$/, '').trimEnd().replace(/["']$/, '');
  return text.endsWith('/') || /(?:id|token)$/.test(name);
}

/** Both are lower case. */
function hasId(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at !== -1; at = text.indexOf(id, at + 1)) {
    const isWhole = !/[\w-]/.test(text.charAt(at + id.length));
    if (isWhole && endsBeforeId(text.slice(Math.max(0, at - MAX_BEFORE_ID), at))) return true;
  }
  return false;
}

const isNameOfId = (name: string, map: SearchableBody['map']): boolean =>
  /(?:id|token)s?$/i.test(name) || (Object.hasOwn(map, name) && map[name] === 'id');

/** Whether a body contains the id of a lead. Another value may be the same: the postal code of someone. */
export function createIdMatcher(id: string): (body: SearchableBody) => boolean {
  const searched = id.toLowerCase();
  return ({ values, texts, source, map }) =>
    values.some(
      ({ text, names }) =>
        text.trim().toLowerCase() === searched && names.some((name) => isNameOfId(name, map)),
    ) || [...texts, ...source].some((text) => hasId(text.toLowerCase(), searched));
}

/** Parses the body of a request that sends leads. */
import type { IncomingMessage } from 'node:http';
import { MAX_IDEMPOTENCY_KEY_LENGTH, MAX_INTAKE_BYTES, MAX_INTAKE_LEADS } from '@leadtap/contract';
import type { BodyRule, MediaType } from '../http/body.ts';
import { isHeaderRepeated, parseParameter, splitUnquoted } from '../http/headers.ts';
import { ProblemError, unavailable } from '../http/problems.ts';
import { objectFromTexts } from '../leads/parse-lead.ts';
import { shorten } from '../lib/escape.ts';
import { mapInSlices } from '../lib/event-loop.ts';
import { isJsonObject } from '../lib/json.ts';
import type { WatchReserved } from '../lib/reserved.ts';
import type { IntakeContent } from './accept.ts';

export const LEADS_BODY: BodyRule = {
  mediaTypes: ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'],
  maxBytes: MAX_INTAKE_BYTES,
};

/** Of a request whose header was accepted. */
export const mediaTypeOf = (contentType: string): MediaType => {
  const name = contentType.split(';', 1)[0]?.trim().toLowerCase();
  return LEADS_BODY.mediaTypes.find((accepted) => accepted === name) ?? 'application/json';
};

/** Throws 400 for a key that cannot be used. Undefined if the client sent none. */
export function idempotencyKeyOf(request: IncomingMessage): string | undefined {
  if (isHeaderRepeated(request, 'idempotency-key'))
    throw new ProblemError('malformed-request', { detail: 'Send one `Idempotency-Key`, not several.' });
  const key = request.headers['idempotency-key'];
  if (key === undefined || (typeof key === 'string' && isIdempotencyKey(key))) return key?.toString();
  const detail = `Send an \`Idempotency-Key\` of 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} printable ASCII characters, such as a UUID.`;
  throw new ProblemError('malformed-request', { detail });
}

const isIdempotencyKey = (key: string): boolean =>
  /^[ -~]+$/.test(key) && key.length <= MAX_IDEMPOTENCY_KEY_LENGTH;

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** Other names of fields, by their name in a body. */
type FieldNames = Readonly<Record<string, string>>;

export interface BodyOptions {
  /** Other names of fields, for bodies with fields of a lead. */
  readonly names?: FieldNames;
  /** Of the sender: companies take turns. */
  readonly companyId?: string;
}

/** `contentType` is the whole header: that of a multipart form names its boundary. */
export async function parseBody(
  mediaType: MediaType,
  bytes: Buffer,
  contentType: string = mediaType,
  { names = {}, companyId }: BodyOptions = {},
): Promise<IntakeContent> {
  if (mediaType === 'application/json') return renameAll(await parseJson(decode(bytes), companyId), names);
  const fields = await readFields(mediaType, bytes, contentType);
  return parseForm(fields.map(([name, value]) => [fieldNamed(name, names), value]));
}

/** Names are texts of strangers: `constructor` is no entry. */
const fieldNamed = (name: string, names: FieldNames): string =>
  (Object.hasOwn(names, name) ? names[name] : undefined) ?? name;

const isEmpty = (value: unknown): boolean => value === null || value === '';

function renameAll({ value }: IntakeContent, names: FieldNames): IntakeContent {
  if (Object.keys(names).length === 0) return { value };
  const rename = (item: unknown): unknown => {
    if (!isJsonObject(item)) return item;
    const entries = Object.entries(item);
    // A field that has a value of its own keeps it, and the other one stays what it was: an error that is seen.
    const taken = new Set(entries.filter(([, inner]) => !isEmpty(inner)).map(([name]) => name));
    const renamed = entries.map(([name, inner]) => {
      const field = fieldNamed(name, names);
      return [field === name || taken.has(field) ? name : field, inner] as const;
    });
    return Object.fromEntries(
      renamed.sort(([, one], [, other]) => Number(!isEmpty(one)) - Number(!isEmpty(other))),
    );
  };
  return { value: Array.isArray(value) ? value.map(rename) : rename(value) };
}

/** The body of a webhook with its own names: JSON, or an object of the fields of a form. */
export async function parseWebhook(
  mediaType: MediaType,
  bytes: Buffer,
  contentType: string = mediaType,
  companyId?: string,
): Promise<unknown> {
  if (mediaType === 'application/json') return (await parseJson(decode(bytes), companyId)).value;
  // Checkboxes of a form have the same name.
  const fields = new Map<string, string>();
  for (const [name, value] of await readFields(mediaType, bytes, contentType)) {
    const other = fields.get(name);
    fields.set(name, other ? `${other}, ${value}` : value);
  }
  return Object.fromEntries(fields);
}

type FormField = readonly [name: string, value: string];

/** The fields of a form, in their order. Throws 400 or 415. */
export const readFields = async (
  mediaType: MediaType,
  bytes: Buffer,
  contentType: string,
): Promise<readonly FormField[]> =>
  mediaType === 'multipart/form-data' ? readMultipart(bytes, contentType) : splitForm(bytes);

function decode(bytes: Uint8Array): string {
  try {
    // Also removes a byte order mark, which RFC 8259 allows a parser to ignore.
    return UTF_8.decode(bytes);
  } catch {
    throw malformedBody('The body contains bytes that are not UTF-8. Send it as UTF-8.');
  }
}

const malformedBody = (detail: string): ProblemError => new ProblemError('malformed-request', { detail });

/** Far more than leads may have. `JSON.parse` of 450,000 levels takes 150 ms, in which no other request is answered. */
const MAX_JSON_LEVELS = 1000;
/** More than the 64 KiB of `customFields` can contain. Parsing so many takes 20 ms. */
const MAX_LEAD_VALUES = 40_000;
const MAX_LEAD_NAMES = 10_000;

interface ItemsOfArray {
  readonly count: number;
  /** The positions of the brackets and commas around the items; incomplete if there are more items than are accepted. */
  readonly separators: readonly number[];
}

/**
 * Undefined if the JSON is no array. `JSON.parse` decides later whether the items are valid. Throws 400 if an item is too large to be
 * parsed in one turn of the event loop, or if the array is not closed.
 */
function findItems(json: string): ItemsOfArray | undefined {
  const [opening] = /^[ \t\n\r]*\[/.exec(json) ?? [];
  // Too short for any of the limits.
  if (!opening && json.length <= MAX_JSON_LEVELS) return undefined;
  const separators = opening ? [opening.length - 1] : [];
  let count = 1;
  let end = 0;
  // The brackets of the array belong to no item.
  let [level, values, names] = [0, opening ? -1 : 0, 0];
  let isString = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charAt(at);
    if (isString) {
      if (character === '\\') at += 1;
      else if (character === '"') isString = false;
      continue;
    }
    if (character === '"') isString = true;
    else if (character === ':') names += 1;
    else if (character === ']' || character === '}') {
      level -= 1;
      if (level === 0) end = at;
    } else if (character === '[' || character === '{') {
      level += 1;
      values += 1;
    } else if (character === ',' && level === 1 && opening) {
      if (count <= MAX_INTAKE_LEADS) separators.push(at);
      count += 1;
      [values, names] = [0, 0];
    } else if (character === ',') values += 1;
    requireParsable(level, values, names);
  }
  if (!opening) return undefined;
  if (!/^\][ \t\n\r]*$/.test(json.slice(end))) throw notJson();
  separators.push(end);
  return { count, separators };
}

function requireParsable(level: number, values: number, names: number): void {
  if (level > MAX_JSON_LEVELS)
    throw malformedBody('The body is nested deeper than 1,000 levels. Flatten it.');
  if (values > MAX_LEAD_VALUES || names > MAX_LEAD_NAMES)
    throw malformedBody(
      'A lead has more than 40,000 values, or more than 10,000 of them have names. Send less.',
    );
}

async function parseJson(json: string, companyId: string | undefined): Promise<IntakeContent> {
  const items = findItems(json);
  // An array of one item may be empty.
  if (!items || items.count < 2) return { value: parsePart(json) };
  // Refused because of their number.
  if (items.count > MAX_INTAKE_LEADS) return { value: new Array(items.count).fill(null) };
  const [start = 0, ...ends] = items.separators;
  return {
    value: await mapInSlices(
      ends,
      (end, index) => parsePart(json, (ends[index - 1] ?? start) + 1, end),
      companyId,
    ),
  };
}

/** Throws 400 if it takes too long to be parsed in one turn of the event loop. */
export function parseJsonItem(json: string): unknown {
  findItems(json);
  return parsePart(json);
}

function parsePart(json: string, start = 0, end = json.length): unknown {
  try {
    return JSON.parse(json.slice(start, end));
  } catch (error) {
    // Only the position: the message of the error quotes the body, and logs and answers contain no lead data.
    const [, position] = /position (\d+)/.exec(String(error)) ?? [];
    throw notJson(position === undefined ? '' : ` (character ${start + Number(position) + 1})`);
  }
}

const notJson = (where = ''): ProblemError =>
  malformedBody(`The body is not JSON${where}. Send one lead such as {"firstName":"Ada"}, or an array.`);

/** As PHP by default. A body of 1 MiB could have half a million, and no other request is answered while they are decoded. */
const MAX_FORM_FIELDS = 1000;

/** `curl -d` sends JSON as a form if it is not given another type. */
const isProbablyJson = (text: string): boolean => /^\s*[{[]/.test(text) && !text.includes('=');

/** One lead. An empty field counts as absent, because a browser sends all fields of a form, but its name is checked. */
function parseForm(given: readonly FormField[]): IntakeContent {
  const fields = new Map<string, string>();
  for (const [name, value] of given) {
    if (value !== '' && fields.get(name)) throw invalidField(name, 'is there twice; send it once');
    fields.set(name, value || (fields.get(name) ?? ''));
  }
  const object = objectFromTexts([...fields.keys()], [...fields.values()]);
  return {
    value: Object.fromEntries(Object.entries(object).map(([name, value]) => [name, value ?? undefined])),
  };
}

const invalidField = (field: string, detail: string): ProblemError =>
  new ProblemError('invalid-lead', { errors: [{ index: 0, field: shorten(field), detail }] });

/** Each is a space. As bytes: `replaceAll` in a text of 1 MiB takes up to 190 ms. */
function replacePlusSigns(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = 0; at < copy.length; at += 1) if (copy[at] === PLUS) copy[at] = SPACE;
  return copy;
}

const PLUS = 0x2b;
const SPACE = 0x20;
/** Encoded. Far more than a question of a form has. */
const MAX_NAME_LENGTH = 10_000;

function splitForm(bytes: Buffer): FormField[] {
  const text = decode(replacePlusSigns(bytes));
  if (isProbablyJson(text))
    throw new ProblemError('unsupported-media-type', {
      detail: 'This looks like JSON: send `Content-Type: application/json`.',
    });
  const pairs = text.split('&', MAX_FORM_FIELDS + 1);
  if (pairs.length > MAX_FORM_FIELDS) throw tooManyFields();
  return pairs.filter((pair) => pair !== '').map(splitPair);
}

const tooManyFields = (): ProblemError =>
  malformedBody('The form has more than 1,000 fields. Send fewer, or send JSON.');

const longNames = (): ProblemError =>
  malformedBody('The names of the fields of the form are too long. Shorten them.');

function splitPair(pair: string): FormField {
  const at = pair.indexOf('=');
  const end = at === -1 ? pair.length : at;
  if (end > MAX_NAME_LENGTH) throw longNames();
  try {
    return [decodeURIComponent(pair.slice(0, end)), decodeURIComponent(pair.slice(end + 1))];
  } catch {
    throw malformedBody(
      'The body is not a well-formed form. Encode its fields as UTF-8 and percent-encode them.',
    );
  }
}

/** The heads of all parts together. Parsing a head of 1 MiB takes 150 ms. */
const MAX_PART_HEADS_BYTES = 128 * 1024;

/** The texts of a multipart form. Uploaded files are ignored. */
async function readMultipart(bytes: Buffer, contentType: string): Promise<FormField[]> {
  requireParsableParts(bytes, contentType);
  try {
    const form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData();
    return [...form].flatMap(([name, value]): FormField[] =>
      typeof value === 'string' ? [[name, value]] : [],
    );
  } catch {
    throw malformedBody('The body is not a well-formed multipart form: check its boundary and its end.');
  }
}

/** Throws 400 if the parts take too long to be parsed in one turn of the event loop. */
function requireParsableParts(bytes: Buffer, contentType: string): void {
  const parameters = splitUnquoted(contentType, ';').map(parseParameter);
  const delimiter = `--${parameters.find(({ name }) => name === 'boundary')?.value ?? ''}`;
  let [parts, headBytes] = [0, 0];
  for (let at = bytes.indexOf(delimiter); at !== -1; at = bytes.indexOf(delimiter, at + delimiter.length)) {
    const end = bytes.indexOf('\r\n\r\n', at);
    parts += 1;
    headBytes += (end === -1 ? bytes.length : end) - at;
    // The last delimiter is the end of the form.
    if (parts > MAX_FORM_FIELDS + 1) throw tooManyFields();
    if (headBytes > MAX_PART_HEADS_BYTES) throw longNames();
  }
}

/** Of all bodies that are arriving or being stored. */
const MAX_BYTES = 64 * 1024 * 1024;
/** More at once are not faster; they only occupy memory. */
const MAX_UPLOADS_PER_USER = 8;
const RETRY_AFTER_S = 1;

export interface Upload {
  /** The body has arrived. */
  complete(): void;
  /** The body is not needed any more. Call it once. */
  release(): void;
}

export class UploadBudget {
  readonly #uploads = new Map<string, number>();
  #bytes = 0;

  constructor(watch?: WatchReserved) {
    watch?.('upload_bytes', () => this.#bytes);
    watch?.('uploading_users', () => this.#uploads.size);
  }

  /**
   * `declaredBytes` is undefined for a chunked body. One that has arrived is no unfinished upload of its user. Throws 429 or 503
   * if the body may not be read now.
   */
  open(userId: string, declaredBytes = MAX_INTAKE_BYTES, hasArrived = false): Upload {
    const uploads = this.#uploads.get(userId) ?? 0;
    if (!hasArrived && uploads >= MAX_UPLOADS_PER_USER)
      throw new ProblemError('rate-limit-exceeded', {
        detail: `Your user has ${MAX_UPLOADS_PER_USER} unfinished requests. Finish them first, then send this one again.`,
        violatedPolicies: ['uploads'],
        headers: { 'retry-after': String(RETRY_AFTER_S) },
      });
    if (this.#bytes + declaredBytes > MAX_BYTES) throw unavailable(undefined, TOO_MANY_BODIES);
    if (!hasArrived) this.#uploads.set(userId, uploads + 1);
    this.#bytes += declaredBytes;
    let isComplete = hasArrived;
    const complete = () => {
      if (isComplete) return;
      isComplete = true;
      const left = (this.#uploads.get(userId) ?? 1) - 1;
      if (left > 0) this.#uploads.set(userId, left);
      else this.#uploads.delete(userId);
    };
    const release = () => {
      complete();
      this.#bytes -= declaredBytes;
    };
    return { complete, release };
  }
}

const TOO_MANY_BODIES =
  'The service is receiving too many leads at once. Nothing was stored. Send the same request again after the seconds given in `Retry-After`.';

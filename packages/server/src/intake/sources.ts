/**
 * Form and booking services whose webhooks have a shape of their own. A token that is issued for one of them (`--source`) sends its
 * webhooks unchanged. Each answer becomes the field that its label means, as in `leads import --map auto`, or a custom field.
 */
import { IMPORT_FIELDS } from '@leadtap/contract';
import { LEAD_SOURCES, type LeadSource } from '../accounts/records.ts';
import { ProblemError } from '../http/problems.ts';
import { assignFields } from '../leads/assign-fields.ts';
import { CONTACT_FIELDS } from '../leads/field-names.ts';
import { isBlank } from '../leads/field-readers.ts';
import { CUSTOM_FIELD_PREFIX, isValidText, objectFromTexts, type ParseOptions } from '../leads/parse-lead.ts';
import { isJsonObject } from '../lib/json.ts';
import type { IntakeContent } from './accept.ts';
import { parseJsonItem } from './body.ts';

type JsonObject = Readonly<Record<string, unknown>>;

interface Answer {
  readonly label: string;
  /** The name that the service gives the question, if it differs from what people read. A map may use it as well. */
  readonly key?: string | undefined;
  readonly value: unknown;
  /** The field, if the service tells the type of the answer. */
  readonly field?: string | undefined;
  /** It repeats a part of another answer, and is left out if its field has a value. */
  readonly isPart?: true;
}

interface Submission {
  /** Of the submission, so that a repeated webhook adds no second lead. */
  readonly id: unknown;
  readonly answers: readonly Answer[];
}

/** Returns the submission, or undefined if the body is not a new submission of the service. */
type ReadSubmission = (body: JsonObject) => Submission | undefined;

const isLeadSource = (name: string): name is LeadSource => LEAD_SOURCES.some((source) => source === name);

/** The fields of answers, by label or key, where the label does not say it. */
type AnswerMap = Readonly<Record<string, string>>;

const READERS: Readonly<Record<LeadSource, ReadSubmission>> = {
  calendly: readCalendly,
  elementor: readElementor,
  facebook: readFacebook,
  form: (body) => ({ id: undefined, answers: answersOf(body) }),
  'google-ads': readGoogleAds,
  jotform: readJotform,
  tally: readTally,
  typeform: readTypeform,
  webflow: readWebflow,
};

/** The lead in a webhook, as `POST /leads` would get it. Throws 422 if the webhook has none. */
export function contentOfWebhook(
  body: unknown,
  { name, map }: { readonly name: string; readonly map: AnswerMap },
  options: ParseOptions,
): IntakeContent {
  const submission = isLeadSource(name) && isJsonObject(body) ? READERS[name](body) : undefined;
  if (!submission)
    throw refused(
      `is not a new submission of ${name}, which this token was issued for; send other bodies with another token`,
    );
  // A refused webhook is not sent again: the lead would be lost.
  const answers = submission.answers.slice(0, MAX_ANSWERS);
  const value = toLead({ ...submission, answers }, map, options);
  requireContact(value, answers);
  return {
    value,
    withoutFields: (fields) => contentOfWebhook(body, { name, map: withoutFields(map, fields) }, options),
  };
}

/** A lead that has none of them is of no use: the map of the token does not fit the form. One without any answer has its own error. */
function requireContact(lead: JsonObject, answers: readonly Answer[]): void {
  const questions = answers.filter(({ value }) => textOf(value) !== '').map(nameOf);
  if (questions.length === 0 || CONTACT_FIELDS.some((field) => lead[field] !== undefined)) return;
  throw new ProblemError('no-contact', {
    errors: [...new Set(questions)]
      .slice(0, MAX_QUESTIONS)
      .map((field) => ({ index: 0, field, detail: NOT_RECOGNISED })),
  });
}

/** In errors. */
const MAX_QUESTIONS = 50;

const NOT_RECOGNISED = 'is no name, e-mail address or phone number';

const nameOf = ({ label, key }: Answer, index: number): string =>
  toStorable(
    ([label, key].find((given) => !isBlank(given)) ?? `answer ${index + 1}`).slice(0, MAX_LABEL_LENGTH),
  );

/** Another id would add a lead that was erased. */
const withoutFields = (map: AnswerMap, fields: ReadonlySet<string | null>): AnswerMap =>
  Object.fromEntries(Object.entries(map).filter(([, field]) => field === 'id' || !fields.has(field)));

const refused = (detail: string): ProblemError =>
  new ProblemError('invalid-lead', { errors: [{ index: 0, field: null, detail }] });

/** Far more than forms have. Further ones are left out: comparing each with all others takes time. */
const MAX_ANSWERS = 200;
const MAX_LABEL_LENGTH = 200;
/** Labels of this length, without their answers, always fit into the custom fields: a character takes up to 6 bytes as JSON. */
const SHORT_LABEL_LENGTH = 40;

/** Only the map gives an answer these fields: visitors of a web page must not change other leads, or choose their place. */
const MAPPED_ONLY: ReadonlySet<string> = new Set([
  'id',
  'companyId',
  'branchId',
  'departmentId',
  'statusValue',
]);

/** What its field does not accept becomes a custom field: a service drops a webhook that is refused, and the lead with it. */
function toLead(
  submission: Submission,
  map: AnswerMap,
  options: ParseOptions,
  labelLength = MAX_LABEL_LENGTH,
): JsonObject {
  const answers = submission.answers
    .map((answer) => ({ ...answer, text: textOf(answer.value) }))
    .filter(({ text }) => text !== '');
  const isValid = (field: string, text: string): boolean =>
    field.startsWith(CUSTOM_FIELD_PREFIX) || isValidText(field, text, options);
  /** The first answer that the field accepts has it. */
  const taken = new Set<string>();
  const labels = answers.map(({ label, key, field: typed, text, isPart }, index) => {
    const name = [label, key].find((given) => !isBlank(given)) ?? `answer ${index + 1}`;
    const given = fieldOf(map, label) ?? fieldOf(map, key) ?? typed;
    const isFree = given !== undefined && !taken.has(given) && isValid(given, text);
    if (isFree) taken.add(given);
    const field = isFree ? given : isPart && IGNORED;
    return { name: toStorable(name.slice(0, labelLength)), field, values: [text] };
  });
  const assigned = assignFields(
    labels,
    options,
    (field, { values: [text = ''] }) => !MAPPED_ONLY.has(field) && isValid(field, text),
  );
  const fields = assigned.map(({ field }) => (field === IGNORED ? undefined : field));
  const whole = objectFromTexts(
    fields,
    answers.map(({ text }) => text),
  );
  const lead = cutCustomFields(whole) ?? whole;
  if (lead === whole && labelLength > SHORT_LABEL_LENGTH)
    return toLead(submission, map, options, SHORT_LABEL_LENGTH);
  const id = textOf(submission.id);
  return id === '' || lead['id'] !== undefined ? lead : { ...lead, id };
}

/** The field of a label that is left out. */
const IGNORED = '';

const MAX_CUSTOM_BYTES =
  IMPORT_FIELDS.find(({ name }) => name === 'customFields')?.import.maxBytes ?? Number.POSITIVE_INFINITY;

/** The first of these to which all texts must be cut so that the custom fields are small enough. */
const CUT_LENGTHS = [Number.POSITIVE_INFINITY, 12_000, 4000, 1000, 200, 40, 0];

/** Undefined if the labels alone are too long. */
function cutCustomFields(lead: JsonObject): JsonObject | undefined {
  const custom = Object.entries(lead).filter(([name]) => name.startsWith(CUSTOM_FIELD_PREFIX));
  const cutTo = (length: number) =>
    Object.fromEntries(custom.map(([name, text]) => [name, cut(String(text), length)]));
  const isSmall = (fields: JsonObject): boolean =>
    Buffer.byteLength(JSON.stringify(fields)) <= MAX_CUSTOM_BYTES;
  for (const length of CUT_LENGTHS) {
    const fields = cutTo(length);
    if (isSmall(fields)) return { ...lead, ...fields };
  }
  return undefined;
}

const cut = (text: string, length: number): string =>
  text.length > length ? `${toStorable(text.slice(0, length))}… (cut)` : text;

/** More than any field accepts. A custom field that is longer is cut. */
const MAX_TEXT_LENGTH = 110_000;

/** Labels are texts of strangers: `constructor` is no entry. */
const fieldOf = (map: AnswerMap, name: string | undefined): string | undefined =>
  name !== undefined && Object.hasOwn(map, name) ? map[name] : undefined;

/** No database stores NUL or half of a surrogate pair, which may also be the end of a text that was cut. */
const toStorable = (text: string): string => Buffer.from(text.replaceAll('\0', '')).toString();

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(textOf).filter(Boolean).join(', ');
  if (!isJsonObject(value)) return toStorable(String(value).slice(0, MAX_TEXT_LENGTH)).trim();
  // Uploaded files.
  return typeof value['url'] === 'string' ? textOf(value['url']) : JSON.stringify(value);
}

const objectAt = (object: JsonObject, name: string): JsonObject => {
  const value = object[name];
  return isJsonObject(value) ? value : {};
};

const objectsAt = (object: JsonObject, name: string): readonly JsonObject[] => {
  const value = object[name];
  return Array.isArray(value) ? value.slice(0, MAX_ANSWERS).filter(isJsonObject) : [];
};

const answersOf = (object: JsonObject): Answer[] =>
  Object.entries(object).map(([label, value]) => ({ label, value }));

function readCalendly({ event, payload }: JsonObject): Submission | undefined {
  if (event !== 'invitee.created' || !isJsonObject(payload)) return undefined;
  const { uri, name, first_name, last_name, email, text_reminder_number } = payload;
  const { start_time, name: eventName } = objectAt(payload, 'scheduled_event');
  return {
    id: typeof uri === 'string' ? uri.slice(uri.lastIndexOf('/') + 1) : undefined,
    answers: [
      { label: 'fullName', value: name },
      { label: 'firstName', value: first_name },
      { label: 'lastName', value: last_name },
      { label: 'email', value: email },
      { label: 'phone1', value: text_reminder_number },
      { label: 'appointmentDateTime', value: start_time },
      { label: 'event', value: eventName },
      ...objectsAt(payload, 'questions_and_answers').map(({ question, answer }) => ({
        label: textOf(question),
        value: answer,
      })),
      ...answersOf(objectAt(payload, 'tracking')),
    ],
  };
}

/** As a form: `Label=value`, or `fields[key][title]` and `fields[key][value]` with *Advanced Data*. */
function readElementor(body: JsonObject): Submission {
  const isAdvanced = Object.keys(body).some((name) => name.startsWith('fields['));
  if (!isAdvanced) return { id: undefined, answers: answersOf(body) };
  const answers = Object.entries(body).flatMap(([name, value]) => {
    const [, key] = /^fields\[([^\]]*)\]\[value\]$/.exec(name) ?? [];
    return key === undefined ? [] : [{ label: textOf(body[`fields[${key}][title]`]), key, value }];
  });
  return { id: undefined, answers };
}

/** As the Graph API returns a lead. */
function readFacebook(body: JsonObject): Submission | undefined {
  const { id, field_data: fields, ...rest } = body;
  if (!Array.isArray(fields)) return undefined;
  return {
    id,
    answers: [
      ...objectsAt(body, 'field_data').map(({ name, values }) => ({ label: textOf(name), value: values })),
      ...answersOf(rest),
    ],
  };
}

function readGoogleAds(body: JsonObject): Submission | undefined {
  if (!Array.isArray(body['user_column_data'])) return undefined;
  const { lead_id, campaign_id, form_id, gcl_id, is_test } = body;
  return {
    id: lead_id,
    answers: [
      ...objectsAt(body, 'user_column_data').map(({ column_id, column_name, string_value }) => ({
        label: textOf(column_name),
        key: textOf(column_id),
        value: string_value,
      })),
      ...answersOf({ campaign_id, form_id, gcl_id, ...(is_test === true && { is_test }) }),
    ],
  };
}

/** As a multipart form. `rawRequest` has the answers as JSON, as `q3_name` or `q3_name3`, and files by their names alone. */
function readJotform({ submissionID, rawRequest }: JsonObject): Submission | undefined {
  const request = parseJsonObject(rawRequest);
  if (submissionID === undefined || !request) return undefined;
  const answers = Object.entries(request).flatMap(([key, value]): Answer[] => {
    const [, , label] = /^q(\d{1,6})_(.+?)\1?$/s.exec(key) ?? [];
    if (label !== undefined && isJsonObject(value))
      return [{ label, key, value: joinParts(value) }, ...knownParts(value)];
    if (label !== undefined) return [{ label, key, value }];
    const isUpload = Array.isArray(value) && value.every((url) => /^https?:/.test(String(url)));
    return isUpload ? [{ label: key, value }] : [];
  });
  return { id: submissionID, answers };
}

/** The parts of a name and of an address that are fields of their own. */
const PART_FIELDS: AnswerMap = { first: 'firstName', last: 'lastName', postal: 'postalCode' };

const knownParts = (parts: JsonObject): Answer[] =>
  Object.entries(PART_FIELDS).map(([part, field]) => ({
    ...{ label: part, value: parts[part], field },
    isPart: true,
  }));

function parseJsonObject(text: unknown): JsonObject | undefined {
  try {
    const value = typeof text === 'string' && parseJsonItem(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A name, a phone number, an address, or an appointment with its time zone, such as "Europe/Paris (GMT+01:00)". */
function joinParts(parts: JsonObject): string {
  const { date, timezone } = parts;
  const [, offset] = /\(GMT([+-]\d\d:\d\d)\)/.exec(textOf(timezone)) ?? [];
  if (date !== undefined && offset !== undefined) return `${textOf(date)}${offset}`;
  return Object.values(parts).map(textOf).filter(Boolean).join(' ');
}

const TALLY_FIELDS: AnswerMap = { INPUT_EMAIL: 'email', INPUT_PHONE_NUMBER: 'phone1' };

function readTally({ eventType, data }: JsonObject): Submission | undefined {
  if (eventType !== 'FORM_RESPONSE' || !isJsonObject(data)) return undefined;
  const answers = objectsAt(data, 'fields').flatMap((answer): Answer[] => {
    const { key, label, type, value } = answer;
    // Checkboxes come again one by one, after the list of those that are ticked.
    if (type === 'CHECKBOXES' && typeof value === 'boolean') return [];
    const parts = ['options', 'rows', 'columns'].flatMap((name) => objectsAt(answer, name));
    const texts = new Map(parts.map(({ id, text }) => [id, text]));
    const nameAll = (ids: unknown): unknown =>
      Array.isArray(ids) ? ids.map((id) => texts.get(id) ?? id) : ids;
    const chosen = type === 'MATRIX' && isJsonObject(value) ? readMatrix(value, nameAll) : nameAll(value);
    return [
      { label: textOf(label), key: textOf(key), value: chosen, field: fieldOf(TALLY_FIELDS, textOf(type)) },
    ];
  });
  return { id: data['responseId'], answers };
}

/** The chosen columns of each row. */
const readMatrix = (matrix: JsonObject, nameAll: (ids: unknown) => unknown): string =>
  Object.entries(matrix)
    .filter(([, columns]) => textOf(columns) !== '')
    .map(([row, columns]) => `${textOf(nameAll([row]))}: ${textOf(nameAll(columns))}`)
    .join('; ');

const TYPEFORM_FIELDS: AnswerMap = { email: 'email', phone_number: 'phone1' };

function readTypeform({ event_type, form_response: response }: JsonObject): Submission | undefined {
  if (event_type !== 'form_response' || !isJsonObject(response)) return undefined;
  const questions = objectsAt(objectAt(response, 'definition'), 'fields');
  const titles = new Map(questions.map(({ id, title }) => [id, title]));
  const answers = objectsAt(response, 'answers').map((answer): Answer => {
    const type = textOf(answer['type']);
    const { id, ref } = objectAt(answer, 'field');
    const choice = Object.hasOwn(answer, type) ? answer[type] : undefined;
    const value = isJsonObject(choice) ? readChoice(choice) : choice;
    return { label: textOf(titles.get(id)), key: textOf(ref), value, field: fieldOf(TYPEFORM_FIELDS, type) };
  });
  const others = ['hidden', 'calculated'].flatMap((name) => answersOf(objectAt(response, name)));
  return { id: response['token'], answers: [...answers, ...others] };
}

/** One choice, several, or another object, such as a payment. */
function readChoice(choice: JsonObject): unknown {
  const { label, labels, other } = choice;
  if (label === undefined && labels === undefined && other === undefined) return choice;
  return [label, labels, other];
}

function readWebflow({ triggerType, payload }: JsonObject): Submission | undefined {
  if (triggerType !== 'form_submission' || !isJsonObject(payload)) return undefined;
  return { id: payload['id'], answers: answersOf(objectAt(payload, 'data')) };
}

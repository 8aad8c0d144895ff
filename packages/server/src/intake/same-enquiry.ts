/** Whether a refused request and one with the same `Idempotency-Key` that was accepted are of the same person. */
import { IMPORT_FIELDS } from '@leadtap/contract';
import { CONTACT_FIELDS, fieldOfName } from '../leads/field-names.ts';
import { normalizeEmail, normalizePhone } from '../leads/removal.ts';
import { readValues, type Value } from './refused-search.ts';
import type { AcceptedRequest, RefusedLeadWithBody } from './store.ts';

const LEAD_FIELDS: ReadonlySet<string> = new Set(IMPORT_FIELDS.map(({ name }) => name));
const EMAIL = /^[^\s@]+@[^\s@]+$/;

const wordsOf = (text: string): readonly string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Of each body, and of both together: the comparison takes at most 5 ms. Larger requests are not compared. */
const MAX_BYTES = 8 * 1024;
const MAX_VALUES = 400;
const MAX_NAMES = 60;

type FieldOfName = ReadonlyMap<string, string | undefined>;

/** What a body says about a person. E-mail addresses in any field, because the name of a field may be wrong. */
function contactOf(values: readonly Value[], fields: FieldOfName, wrong: ReadonlySet<string | null>) {
  const emails = new Set<string>();
  const phones = new Set<string>();
  const words = new Set<string>();
  let hasAddress = false;
  for (const { text, names, isName } of values) {
    const field = CONTACT_FIELDS.find((one) => names.some((name) => fields.get(name) === one));
    const isEmail = EMAIL.test(text.trim());
    // A field that does not exist is wrong as well, but its value is sent again under another name.
    const isCorrected = !isEmail && names.some((name) => LEAD_FIELDS.has(name) && wrong.has(name));
    if (isName || isCorrected || text.trim() === '') continue;
    if (isEmail || field === 'email') emails.add(normalizeEmail(text));
    else if (field?.startsWith('phone')) phones.add(normalizePhone(text));
    else if (field !== undefined) for (const word of wordsOf(text)) words.add(word);
    hasAddress ||= field === 'email' || field?.startsWith('phone') === true;
  }
  return { emails, phones, words, hasAddress };
}

const isPartOf = (some: ReadonlySet<string>, all: ReadonlySet<string>): boolean =>
  [...some].every((one) => all.has(one));

/**
 * True if the accepted body has each e-mail address and phone number of the refused one that was not wrong, and its name. If in doubt,
 * the refused request stays: a sender may use one key for all people.
 */
export async function isSameEnquiry(
  refused: RefusedLeadWithBody,
  { at, sent }: AcceptedRequest,
): Promise<boolean> {
  // With a used key, another body is refused: nothing of it was accepted.
  if (!sent || refused.lastAt > at || refused.code === 'idempotency-key-reused') return false;
  if (Math.max(refused.body.length, sent.body.length) > MAX_BYTES) return false;
  const keptValues = (await readValues(refused)) ?? [];
  const acceptedValues = (await readValues(sent)) ?? [];
  const all = [...keptValues, ...acceptedValues];
  const names = new Set(all.flatMap((value) => value.names));
  if (all.length > MAX_VALUES || names.size > MAX_NAMES) return false;
  const fields: FieldOfName = new Map([...names].map((name) => [name, fieldOfName(name)]));
  const wrong = new Set(refused.errors.map(({ field }) => field));
  const kept = contactOf(keptValues, fields, wrong);
  const accepted = contactOf(acceptedValues, fields, new Set());
  const hasName = kept.words.size > 0;
  const mayHaveName = isPartOf(kept.words, accepted.words) || (kept.hasAddress && accepted.words.size === 0);
  return (
    isPartOf(kept.emails, accepted.emails) &&
    isPartOf(kept.phones, accepted.phones) &&
    (hasName ? mayHaveName : kept.hasAddress)
  );
}

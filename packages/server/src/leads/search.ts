/** The rule by which a text finds leads: over HTTP, and in `leads list --search`. */
import { foldText } from '@leadtap/contract';
import { normalizePhone } from './removal.ts';

/** People know the last four. Fewer digits are in too many numbers. */
const MIN_PHONE_DIGITS = 4;

const PHONE = /^[+(\d][\d\s()./-]*$/;
const INTERNATIONAL = /^\s*(?:\+|00)/;
/** ITU-T E.164: the country codes of one and two digits; all others have three. */
const COUNTRY_CODE = /^(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/;

const withoutZero = (digits: string): string => digits.replace(/^0/, '');

/** What is searched of a lead. */
export interface SearchedLead {
  /** Id, full name, first and last name, e-mail address and phone numbers, a line each. */
  readonly text: string;
  /** A line each. */
  readonly phones: string;
}

export interface LeadMatcher {
  /** Folded, without spaces. A lead in ASCII matches only if its text contains it in any case, or by its digits. */
  readonly part: string;
  /** A phone number matches only if it has these digits in this order. Empty: phone numbers are not compared by their digits. */
  readonly digits: string;
  readonly matches: (lead: SearchedLead) => boolean;
}

/** A longer part would not exclude many more leads, and a database takes its length times that of a text to find it. */
const MAX_PART_LENGTH = 16;

/**
 * Finds a text in one line of a lead, without regard to case, accents and the number of spaces. A phone number is also found by its digits: with
 * or without the zero before its area code, which a number with a country code does not have, and with or without a country code.
 */
export function createLeadMatcher(search: string): LeadMatcher {
  const text = foldText(search).replaceAll('\n', ' ').trim();
  const words = text.split(' ').sort((a, b) => b.length - a.length);
  const phone = PHONE.test(search.trim()) ? normalizePhone(search) : '';
  const digits = [withoutZero(phone), phone].find(({ length }) => length >= MIN_PHONE_DIGITS) ?? '';
  const national = INTERNATIONAL.test(search) ? withoutZero(digits.replace(COUNTRY_CODE, '')) : '';
  const hasDigits = (number: string): boolean => {
    const stored = normalizePhone(number);
    return stored.includes(digits) || (national !== '' && withoutZero(stored).startsWith(national));
  };
  return {
    part: (words[0] ?? '').slice(0, MAX_PART_LENGTH),
    digits: national || digits,
    matches: (lead) =>
      foldText(lead.text).includes(text) || (digits !== '' && lead.phones.split('\n').some(hasDigits)),
  };
}

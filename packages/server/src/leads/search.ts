/** The rule by which a text finds leads: over HTTP, and in `leads list --search`. */
import { normalizePhone } from './removal.ts';

const MARKS = /\p{M}/gu;
/** The letters without accents, by code unit. */
const plainLetters: string[] = [];

/** Without case and accents. Letter by letter: to normalize the whole text takes three times as long. */
function fold(text: string): string {
  const lower = text.toLowerCase();
  let folded = '';
  let end = 0;
  for (let index = 0; index < lower.length; index += 1) {
    const unit = lower.charCodeAt(index);
    if (unit < 0x80) continue;
    plainLetters[unit] ??= lower.charAt(index).normalize('NFD').replace(MARKS, '');
    folded += lower.slice(end, index) + plainLetters[unit];
    end = index + 1;
  }
  return end === 0 ? lower : folded + lower.slice(end);
}

/** Fewer digits are in too many numbers. */
const MIN_PHONE_DIGITS = 5;

/** The digits of a phone number without the zero before its area code, which a number with a country code does not have. */
const phoneDigitsOf = (text: string): string =>
  /^[+\d][\d\s()./-]*$/.test(text) ? normalizePhone(text).replace(/^0/, '') : '';

/** What is searched of a lead. */
export interface SearchedLead {
  /** Id, full name, first and last name, e-mail address and phone numbers, a line each. */
  readonly text: string;
  /** A line each. */
  readonly phones: string;
}

export interface LeadMatcher {
  /** Folded, in one line. A lead in ASCII matches only if its text contains it in any case, or by its digits. */
  readonly text: string;
  /** Empty: phone numbers are not compared by their digits. */
  readonly digits: string;
  readonly matches: (lead: SearchedLead) => boolean;
}

/** Finds a text in one line of a lead, without regard to case and accents, and a phone number also by its digits. */
export function createLeadMatcher(search: string): LeadMatcher {
  const text = fold(search).replace(/\s+/g, ' ').trim();
  const phone = phoneDigitsOf(search.trim());
  const digits = phone.length >= MIN_PHONE_DIGITS ? phone : '';
  const hasDigits = (number: string) => normalizePhone(number).includes(digits);
  return {
    text,
    digits,
    matches: (lead) =>
      fold(lead.text).includes(text) || (digits !== '' && lead.phones.split('\n').some(hasDigits)),
  };
}

import type { StoredLead } from './record.ts';
import { normalizePhone } from './removal.ts';

/** Without case and accents. */
const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** Fewer digits are in too many numbers. */
const MIN_PHONE_DIGITS = 5;

/** The digits of a phone number without the zero before its area code, which a number with a country code does not have. */
const phoneDigitsOf = (text: string): string =>
  /^[+\d][\d\s()./-]*$/.test(text) ? normalizePhone(text).replace(/^0/, '') : '';

/** Whether a lead has the text in its names, e-mail address, phone numbers or id. Phone numbers are compared by their digits. */
export function createLeadMatcher(search: string): (stored: StoredLead) => boolean {
  const text = fold(search.trim());
  const digits = phoneDigitsOf(search.trim());
  return ({ lead: { id, fullName, firstName, lastName, email, phone1, phone2 } }) => {
    const phones = [phone1 ?? '', phone2 ?? ''];
    const texts = [id, fullName ?? '', `${firstName ?? ''} ${lastName ?? ''}`, email ?? '', ...phones];
    return (
      texts.some((value) => fold(value).includes(text)) ||
      (digits.length >= MIN_PHONE_DIGITS && phones.some((phone) => normalizePhone(phone).includes(digits)))
    );
  };
}

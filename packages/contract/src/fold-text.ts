const MARKS = /\p{M}/gu;
/** Their stroke or form is no accent that Unicode could remove. */
const LETTERS: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ħ: 'h', ŧ: 't', ı: 'i', ς: 'σ' },
};
/** The letters without accents, by code unit. */
const plainLetters: string[] = [];

const toPlain = (letter: string): string =>
  LETTERS[letter] ?? letter.normalize('NFD').replace(MARKS, '').normalize('NFC');

/** Letter by letter: to normalize the whole text takes three times as long. */
function toPlainLetters(run: string): string {
  let plain = '';
  for (let index = 0; index < run.length; index += 1)
    plain += plainLetters[run.charCodeAt(index)] ??= toPlain(run.charAt(index));
  return plain;
}

/** A text as a search compares it: without case and accents, with one space for any white space within a line. */
export const foldText = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[\u0080-\uffff]+/g, toPlainLetters)
    .replace(/[^\S\n]{2,}|[^\S\n ]/g, ' ');

/** Text inside a command, a message or a page. */

/** An argument of a command that a person can paste. */
export const quoteForShell = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Escapes all characters that end a text or a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Control characters, format characters such as those that reverse the direction of text, half surrogate pairs, and line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Stored text could control the terminal, or show another text than the stored one. */
export const printable = (text: string): string => text.replace(UNPRINTABLE, '?');

/** In one line, with single spaces in their place. */
export const toOneLine = (text: string): string => text.replace(UNPRINTABLE, ' ').replace(/\s+/g, ' ').trim();

/** A character outside of the basic plane is two units. */
const escapeCharacter = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/** The same JSON, without characters that control a terminal or change the direction of its text. Line breaks stay. */
export const escapeJson = (json: string): string =>
  json.replace(UNPRINTABLE, (character) => (character === '\n' ? character : escapeCharacter(character)));

const MAX_QUOTED_LENGTH = 60;

/** Input text as a message may contain it: it may have a megabyte. */
export const shorten = (text: string): string =>
  text.length > MAX_QUOTED_LENGTH ? `${text.slice(0, MAX_QUOTED_LENGTH)}…` : text;

/** Input text as a message may show it: short, on one line, and without control codes for the terminal. */
export const quote = (text: string): string => escapeJson(JSON.stringify(shorten(text)));

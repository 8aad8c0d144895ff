/** Text inside a command or a page. */

/** An argument of a command that a person can paste. */
export const quoteForShell = (text: string): string =>
  /^[\w@%+=:,./\\-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Escapes all characters that end a text or a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

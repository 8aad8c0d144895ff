/** What a parser makes of the text of one variable: a value, or what is wrong and what to write instead. */
export type Parsed<T> =
  | { readonly kind: 'right'; readonly value: T }
  | { readonly kind: 'wrong'; readonly wrong: string; readonly write: string };

/** The text is trimmed and never empty. Relative paths are meant from `cwd`. */
export type Parser<T> = (text: string, cwd: string) => Parsed<T>;

export const right = <T>(value: T): Parsed<T> => ({ kind: 'right', value });

export const wrong = (what: string, write: string): Parsed<never> => ({ kind: 'wrong', wrong: what, write });

/** Shows a value in a message. Never for a variable that may hold a secret or a password. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);

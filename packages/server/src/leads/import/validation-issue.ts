/** The answer to a value that cannot be taken: what is wrong with it and how to mend it. */
export class ValidationIssue {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const SHOWN_CHARACTERS = 60;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Text from a file as it may stand in a message: short, on one line, and harmless to a terminal. */
export function shown(text: string): string {
  const short = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  return JSON.stringify(short).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

import { isJsonObject } from '../json-object.ts';

/** What is wrong at one place of a JSON file. */
export interface JsonProblem {
  /** Where, such as `companies[0].users[2].plan`; empty for the file as a whole. */
  readonly path: string;
  readonly detail: string;
}

const MAX_EMAIL = 320;
const EMAIL = /^[^\s@]+@[^\s@]+$/;

/** Control characters, and halves of a pair that a database could not store as they are. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

/**
 * A part of a JSON file that knows where it stands. What is wrong is noted, and reading goes on with a stand-in
 * value, so that a file is reported on as a whole; a part that is missing was noted by `keys` and is silent after.
 */
export class JsonPart {
  readonly #value: unknown;
  readonly #path: string;
  readonly #problems: JsonProblem[];

  constructor(value: unknown, path: string, problems: JsonProblem[]) {
    this.#value = value;
    this.#path = path;
    this.#problems = problems;
  }

  get path(): string {
    return this.#path;
  }

  /** Null says the same as leaving it out, for a part that may be left out. */
  get isGiven(): boolean {
    return this.#value !== undefined && this.#value !== null;
  }

  /** Also when it is null. */
  get isThere(): boolean {
    return this.#value !== undefined;
  }

  note(detail: string): void {
    this.#problems.push({ path: this.#path, detail });
  }

  /** Notes keys that are missing and keys that nobody knows. */
  keys(required: readonly string[], optional: readonly string[]): void {
    if (this.#value === undefined) return;
    if (!isJsonObject(this.#value)) {
      this.note('must be an object');
      return;
    }
    const known = [...required, ...optional];
    for (const key of required) if (!this.has(key)) this.at(key).note('is missing');
    for (const key of Object.keys(this.#value))
      if (!known.includes(key)) this.at(key).note(`is not known here; known are ${known.join(', ')}`);
  }

  has(key: string): boolean {
    return isJsonObject(this.#value) && Object.hasOwn(this.#value, key);
  }

  at(key: string): JsonPart {
    const step = /^\w+$/.test(key) ? key : `[${JSON.stringify(key)}]`;
    const path = this.#path === '' || step.startsWith('[') ? `${this.#path}${step}` : `${this.#path}.${step}`;
    const value = isJsonObject(this.#value) && this.has(key) ? this.#value[key] : undefined;
    return new JsonPart(value, path, this.#problems);
  }

  items(): JsonPart[] {
    if (this.#value === undefined) return [];
    if (Array.isArray(this.#value))
      return this.#value.map((item, index) => new JsonPart(item, `${this.#path}[${index}]`, this.#problems));
    this.note('must be an array');
    return [];
  }

  text(maxLength: number): string {
    const text = this.#value;
    if (text === undefined) return '';
    if (typeof text !== 'string') this.note('must be a string');
    else if (text.trim() === '') this.note('must not be empty');
    else if (text.length > maxLength)
      this.note(`must have at most ${maxLength} characters, not ${text.length}`);
    else if (UNPRINTABLE.test(text)) this.note('must not hold control or broken characters');
    else return text;
    return '';
  }

  textOrNull(maxLength: number): string | null {
    return this.isGiven ? this.text(maxLength) : null;
  }

  email(): string {
    const text = this.text(MAX_EMAIL);
    if (text === '' || EMAIL.test(text)) return text;
    this.note(`must be an e-mail address, such as ada@example.com, not ${JSON.stringify(text)}`);
    return '';
  }

  matching(pattern: RegExp, what: string): string {
    if (this.#value === undefined) return '';
    if (typeof this.#value === 'string' && pattern.test(this.#value)) return this.#value;
    this.note(`must be ${what}`);
    return '';
  }

  oneOf<T extends string>(choices: readonly T[]): T | undefined {
    const choice = choices.find((known) => known === this.#value);
    if (choice === undefined && this.#value !== undefined) this.note(`must be one of ${choices.join(', ')}`);
    return choice;
  }

  boolean(): boolean {
    if (this.#value !== undefined && typeof this.#value !== 'boolean') this.note('must be true or false');
    return this.#value === true;
  }
}

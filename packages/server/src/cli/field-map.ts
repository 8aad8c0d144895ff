/** `--map NAME=FIELD`: which field of a lead a name in a body, a question of a form or a column of a file means. */
import { InvalidArgumentError } from 'commander';
import { fieldProblem } from '../leads/parse-lead.ts';
import type { Clock } from '../lib/clock.ts';
import { Failure } from './exit.ts';

export type FieldMap = readonly (readonly [name: string, field: string])[];

/** A name may contain an equals sign; a field does not. */
export function parsePair(text: string, hint: string): FieldMap[number] {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError(hint);
  return [text.slice(0, at), text.slice(at + 1).trim()];
}

export const collectPairs =
  (hint: string) =>
  (text: string, collected: FieldMap = []): FieldMap => [...collected, parsePair(text, hint)];

export function checkFields(map: FieldMap, clock: Clock): void {
  for (const [name, field] of map) {
    const problem = fieldProblem(field, { historical: false, clock });
    if (problem !== undefined) throw new Failure('usage', `--map "${name}=${field}": ${field} ${problem}`);
  }
}

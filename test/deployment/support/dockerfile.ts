/** Parses the Dockerfile, so that the tests check and replay what a container engine would build. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface Instruction {
  readonly name: string;
  readonly flags: Readonly<Record<string, string>>;
  /** What follows the flags, on one line. */
  readonly text: string;
}

export interface Stage {
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

export function readDockerfile(): { readonly build: Stage; readonly image: Stage } {
  const [build, image, ...others] = stagesOf(readFileSync(`${ROOT}Dockerfile`, 'utf8'));
  if (build === undefined || image === undefined || others.length > 0)
    throw new Error('The Dockerfile must have two stages.');
  return { build, image };
}

function stagesOf(text: string): Stage[] {
  const stages: { name: string; instructions: Instruction[] }[] = [];
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n');
  for (const line of lines.filter((line) => line.trim() !== '')) {
    const instruction = parseInstruction(line);
    if (instruction.name === 'FROM')
      stages.push({ name: instruction.text.split(' AS ')[1] ?? '', instructions: [] });
    else stages.at(-1)?.instructions.push(instruction);
  }
  return stages;
}

function parseInstruction(line: string): Instruction {
  const [name = '', ...words] = line.trim().split(/\s+/);
  const flags: Record<string, string> = {};
  while (words[0]?.startsWith('--')) {
    const [flag = '', value = ''] = words.shift()?.slice(2).split('=') ?? [];
    flags[flag] = value;
  }
  return { name, flags, text: words.join(' ') };
}

/** The last instruction of that name overrides the others. */
export function lastOf({ instructions }: Stage, name: string): Instruction {
  const found = instructions.findLast((instruction) => instruction.name === name);
  if (found === undefined) throw new Error(`The Dockerfile has no ${name}.`);
  return found;
}

/** `["node", "x.js"]`. The other form starts a shell, which would get the signals. */
export function execForm({ text }: Instruction): string[] {
  const words: unknown = JSON.parse(text.replace(/^CMD /, ''));
  if (Array.isArray(words) && words.every((word) => typeof word === 'string')) return words;
  throw new Error(`Not in exec form: ${text}`);
}

export function environmentOf({ instructions }: Stage): Record<string, string> {
  const pairs = instructions
    .filter(({ name }) => name === 'ENV')
    .flatMap(({ text }) => text.split(' '))
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
  return Object.fromEntries(pairs);
}

export interface Copy {
  readonly sources: readonly string[];
  readonly destination: string;
  /** The stage to copy from. Undefined means the repository. */
  readonly from: string | undefined;
  readonly owner: string | undefined;
}

export function copyOf({ flags, text }: Instruction): Copy {
  const paths = text.split(' ');
  const destination = paths.pop() ?? '';
  return { sources: paths, destination, from: flags['from'], owner: flags['chown'] };
}

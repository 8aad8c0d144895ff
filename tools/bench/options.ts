import { parseArgs } from 'node:util';
import type { Options } from './section.ts';

export const USAGE = `npm run bench -- [options]

  --only NAME     this section alone; may be given several times
  --kind NAME     of the polls section this kind of poll alone: empty, newest, since, apart, mixed, history,
                  import
  --rounds N      rounds that count, for each figure (default 7, quick 3)
  --leads N       leads of the largest database in the growth section (default 10,000,000, quick 100,000)
  --quick         small sizes and short rounds: two or three minutes; results go to tools/bench/results/quick`;

const QUICK = { rounds: 3, leads: 100_000 };
const FULL = { rounds: 7, leads: 10_000_000 };

export interface RunOptions extends Options {
  readonly only: readonly string[];
  readonly help: boolean;
}

/** Throws what is wrong with them. */
export function parseOptions(argv: readonly string[]): RunOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      kind: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      leads: { type: 'string' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { only, quick, help } = values;
  const usual = quick ? QUICK : FULL;
  return {
    only,
    quick,
    help,
    kinds: values.kind,
    rounds: count('--rounds', values.rounds, usual.rounds),
    leads: count('--leads', values.leads, usual.leads),
  };
}

function count(name: string, text: string | undefined, usual: number): number {
  const value = text === undefined ? usual : Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name} must be a whole number of at least 1`);
  return value;
}

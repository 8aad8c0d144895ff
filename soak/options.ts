import { parseArgs } from 'node:util';

export interface SoakOptions {
  readonly seconds: number;
  readonly writers: number;
  readonly companies: number;
  readonly instances: number;
  /** How many leads one statement loads into one company; 0 leaves that part out. */
  readonly bulk: number;
  readonly seed: number;
  /** Stamps by the clock alone, as most services do, to see leads get lost. */
  readonly naive: boolean;
}

const DEFAULTS = { seconds: 60, writers: 8, companies: 3, instances: 2, bulk: 100_000, seed: 1 };

export const USAGE = `npm run soak [-- OPTIONS]

  --seconds N     how long they write                          ${DEFAULTS.seconds}
  --writers N     programs that insert with plain SQL          ${DEFAULTS.writers}
  --companies N   each with nine pollers                       ${DEFAULTS.companies}
  --instances N   processes that serve                         ${DEFAULTS.instances}
  --bulk N        leads that one statement loads at the end    ${DEFAULTS.bulk}
  --seed N        other transactions than last time            ${DEFAULTS.seed}
  --naive         stamp by the clock alone, and see leads lost
`;

/** Undefined when the usage is asked for. Throws on what is not understood. */
export function readOptions(args: readonly string[]): SoakOptions | undefined {
  const number = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: number,
      writers: number,
      companies: number,
      instances: number,
      bulk: number,
      seed: number,
      naive: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { naive, help, ...given } = values;
  if (help) return undefined;
  const numbers = Object.entries(given).map(([name, text]) => [name, wholeNumber(name, text)]);
  return { ...DEFAULTS, ...Object.fromEntries(numbers), naive };
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}

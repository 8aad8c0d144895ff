/** `npm run bench`: measures the service, prints tables, and fails if a figure misses its target. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  type Bench,
  type Dataset,
  isIncluded,
  makeDataset,
  type Options,
  type Result,
  type Section,
  startBenchPostgres,
} from './bench.ts';
import { Cleanup } from './cleanup.ts';
import { connections } from './connections.ts';
import { KINDS, pollShape, STORES } from './contestants.ts';
import { growth } from './growth.ts';
import { hooks } from './hooks.ts';
import { intake } from './intake.ts';
import { isolation } from './isolation.ts';
import { leadHooks } from './lead-hooks.ts';
import { memory } from './memory.ts';
import { polls } from './polls.ts';
import {
  comparisonTable,
  machine,
  renderMarkdown,
  renderTable,
  type Verdict,
  verdictTable,
} from './report.ts';
import { type Checkout, openCheckout } from './service.ts';
import { waiting } from './waiting.ts';

const SECTIONS: readonly Section[] = [
  polls,
  waiting,
  hooks,
  leadHooks,
  isolation,
  intake,
  connections,
  growth,
  memory,
];
const NAMES = SECTIONS.map(({ name }) => name);
const COMPARED = SECTIONS.filter(({ isComparison }) => isComparison).map(({ name }) => name);

const USAGE = `npm run bench -- [options]

  --only NAME       only this section; repeatable: ${NAMES.join(', ')}
  --kind NAME       only this kind of poll; repeatable: ${Object.keys(KINDS).join(', ')}
  --store NAME      only this store; repeatable: ${Object.keys(STORES).join(', ')}
  --against FOLDER  compares this checkout with another one, which must be built: ${COMPARED.join(', ')}
  --rounds N        rounds that count, for each figure (default 5, quick 1)
  --seconds N       length of a round (default 2, quick 1)
  --leads N         leads of the large database of the growth section (default 1,000,000, quick 40,000)
  --quick           small and short: tries the bench, measures nothing
  --write           writes tools/bench/results.json, docs/images/performance.svg and the results in
                    docs/performance.md. Needs a whole run`;

interface RunOptions extends Options {
  readonly sections: readonly Section[];
  readonly against: string | undefined;
  readonly write: boolean;
  readonly help: boolean;
}

function parseOptions(args: string[]): RunOptions {
  const list = { type: 'string', multiple: true, default: [] as string[] } as const;
  const flag = { type: 'boolean', default: false } as const;
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args,
    options: {
      ...{ only: list, kind: list, store: list, quick: flag, write: flag, help: flag },
      ...{ against: text, rounds: text, seconds: text, leads: text },
    },
  });
  const { only, kind, store, quick, write, help, against } = values;
  const sections = against === undefined ? NAMES : COMPARED;
  expectKnown(against === undefined ? 'section' : 'section with --against', only, sections);
  expectKnown('kind', kind, Object.keys(KINDS));
  expectKnown('store', store, Object.keys(STORES));
  const partial = [...only, ...kind, ...store].length > 0 || quick || against !== undefined;
  if (write && partial) throw new Error('--write needs a whole run: give no option that leaves figures out');
  return {
    sections: SECTIONS.filter(({ name }) => sections.includes(name) && isIncluded(name, only)),
    kinds: kind,
    stores: store,
    ...{ quick, write, help, against },
    rounds: parseCount('--rounds', values.rounds, quick ? 1 : 5),
    seconds: parseCount('--seconds', values.seconds, quick ? 1 : 2),
    leads: parseCount('--leads', values.leads, quick ? 40_000 : 1_000_000),
  };
}

function expectKnown(what: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is no ${what} ${unknown}; there are ${known.join(', ')}`);
}

function parseCount(name: string, text: string | undefined, usual: number): number {
  const value = text === undefined ? usual : Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name} must be a whole number of at least 1`);
  return value;
}

const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const print = (text: string) => process.stdout.write(`${text}\n`);
const progress = (line: string) =>
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

async function run(options: RunOptions, everything: Cleanup): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'leadtap-bench-'));
  everything.add(() => rmSync(folder, { recursive: true, force: true }));
  const checkout = openCheckout('this', ROOT);
  const datasets = new Map<Checkout, Promise<Dataset>>();
  const shared: Omit<Bench, 'cleanup'> = {
    options,
    folder,
    progress,
    postgres: everything.own(await startBenchPostgres()),
    checkout,
    checkouts: [
      checkout,
      ...(options.against === undefined ? [] : [openCheckout('other', resolve(options.against))]),
    ],
    pollData: (of) => {
      const dataset = datasets.get(of) ?? makeDataset(shared, of, 'polls', pollShape(options));
      datasets.set(of, dataset);
      return dataset;
    },
  };
  const results = new Map<string, Result>();
  for (const section of options.sections) {
    progress(`${section.name}: ${section.about}`);
    const cleanup = new Cleanup();
    everything.add(() => cleanup.run());
    const result = await section.measure({ ...shared, cleanup }).finally(() => cleanup.run());
    for (const table of result.tables) print(`\n${renderTable(table)}`);
    results.set(section.name, result);
  }
  const comparisons = [...results.values()].flatMap((result) => result.comparisons ?? []);
  if (comparisons.length > 0) print(`\n${renderTable(comparisonTable(comparisons))}`);
  const verdicts = [...results.values()].flatMap((result) => result.verdicts);
  if (verdicts.length > 0) print(`\n${renderTable(verdictTable(verdicts))}`);
  if (options.write) write(options, results, verdicts);
  return verdicts.every(({ met }) => met);
}

const MARKED = /(<!-- results -->\n)[\s\S]*(<!-- \/results -->)/;

function write(
  { rounds, seconds }: RunOptions,
  results: ReadonlyMap<string, Result>,
  verdicts: Verdict[],
): void {
  const sections = Object.fromEntries([...results].map(([name, { figures }]) => [name, figures]));
  const rounded = (_: string, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
  const { cores, processor, node, at } = machine();
  const parts = Object.entries({ machine: machine(), rounds, seconds, ...sections, verdicts });
  const lines = parts.map(([name, part]) => `${JSON.stringify(name)}: ${JSON.stringify(part, rounded)}`);
  writeFileSync(join(ROOT, 'tools/bench/results.json'), `{\n${lines.join(',\n')}\n}\n`);
  const picture = [...results.values()].find((result) => result.picture !== undefined)?.picture;
  if (picture !== undefined) writeFileSync(join(ROOT, 'docs/images/performance.svg'), picture);
  const page = join(ROOT, 'docs/performance.md');
  const text = [
    `${at.slice(0, 10)}, ${cores} cores (${processor}), Node.js ${node}. Medians of ${rounds} rounds. [All figures](../tools/bench/results.json), with the target of each.`,
    ...[...results].flatMap(([name, { tables }]) =>
      tables.filter(({ isDetail }) => !isDetail).map((table) => renderMarkdown(table, name)),
    ),
  ].join('\n\n');
  writeFileSync(page, readFileSync(page, 'utf8').replace(MARKED, `$1\n${text}\n\n$2`));
}

const everything = new Cleanup();
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    isStopping = true;
    progress('stopping');
    await everything.run();
    process.exit(130);
  });

/** Failures of connections end here. */
process.once('uncaughtException', async (error) => {
  isStopping = true;
  process.on('uncaughtException', () => undefined);
  process.stderr.write(`${error.message}\n`);
  await everything.run();
  process.exit(2);
});

try {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) print(USAGE);
  else process.exitCode = (await run(options, everything)) ? 0 : 1;
} catch (error) {
  if (!isStopping) process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 2;
} finally {
  await everything.run();
}

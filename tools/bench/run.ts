/** `npm run bench`: measures everything, prints tables, writes tools/bench/results, and fails when a bar is missed. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Verdict } from './bars.ts';
import { Cleanup } from './cleanup.ts';
import { LoadGenerator } from './load/load-generator.ts';
import { machine } from './machine.ts';
import { type GrowthDatabases, makeDatabases } from './made-up/growth/databases.ts';
import { parseOptions, type RunOptions, USAGE } from './options.ts';
import { renderTable } from './report/table.ts';
import { verdictTable } from './report/verdicts.ts';
import type { Section, SectionResult } from './section.ts';
import { consumers } from './sections/consumers.ts';
import { growth } from './sections/growth/section.ts';
import { imports } from './sections/import/section.ts';
import { intake } from './sections/intake/section.ts';
import { memory } from './sections/memory.ts';
import { polls } from './sections/polls/section.ts';
import { startUp } from './sections/start-up.ts';
import { waiting } from './sections/waiting/section.ts';

/** In this order; each has a file of its own, or a folder. */
const SECTIONS: readonly Section[] = [polls, waiting, consumers, imports, intake, growth, memory, startUp];

/** What README shows. */
const IMAGE = new URL('../../../../../docs/images/performance.svg', import.meta.url);

const print = (text: string) => process.stdout.write(`${text}\n`);
const progress = (line: string) =>
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

/** All that runs or lies somewhere now. */
const everything = new Cleanup();
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    isStopping = true;
    progress('stopping');
    await everything.run();
    process.exit(130);
  });

async function makeFolder(cleanup: Cleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'leadtap-bench-'));
  cleanup.add(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Several sections use them; the first one waits until they are made. */
function databasesOnce({ leads }: RunOptions): () => Promise<GrowthDatabases> {
  let made: Promise<GrowthDatabases> | undefined;
  const make = async () =>
    makeDatabases({ folder: await makeFolder(everything), leads, cleanup: everything, progress });
  return () => {
    made ??= make();
    return made;
  };
}

async function runSection(
  section: Section,
  options: RunOptions,
  databases: () => Promise<GrowthDatabases>,
): Promise<SectionResult> {
  const cleanup = new Cleanup();
  everything.add(() => cleanup.run());
  const folder = await makeFolder(cleanup);
  try {
    const generator = cleanup.own(new LoadGenerator());
    return await section.measure({ options, generator, cleanup, folder, databases, progress });
  } finally {
    await cleanup.run();
  }
}

/** A quick run leaves the committed results and the picture of README alone. */
async function save(section: Section, result: SectionResult, options: RunOptions): Promise<void> {
  const folder = fileURLToPath(new URL(`../../../results/${options.quick ? 'quick/' : ''}`, import.meta.url));
  await mkdir(folder, { recursive: true });
  const { figures, verdicts, plot } = result;
  const { rounds } = options;
  const text = JSON.stringify({ machine: machine(), rounds, figures, verdicts }, rounded, 2);
  await writeFile(join(folder, `${section.name}.json`), `${text}\n`);
  if (plot === undefined) return;
  const image = options.quick ? join(folder, 'performance.svg') : fileURLToPath(IMAGE);
  await mkdir(dirname(image), { recursive: true });
  await writeFile(image, plot);
}

/** Six digits are more than any of them is good for. */
const rounded = (_name: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;

async function run(options: RunOptions): Promise<boolean> {
  const chosen = SECTIONS.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  const verdicts: Verdict[] = [];
  const databases = databasesOnce(options);
  for (const section of chosen) {
    progress(`${section.name}: ${section.about}`);
    const result = await runSection(section, options, databases);
    for (const table of result.tables) print(`\n${renderTable(table)}`);
    await save(section, result, options);
    verdicts.push(...result.verdicts);
  }
  if (verdicts.length > 0) print(`\n${renderTable(verdictTable(verdicts))}`);
  return verdicts.every(({ met }) => met);
}

function readOptions(): RunOptions {
  const options = parseOptions(process.argv.slice(2));
  const unknown = options.only.find((name) => !SECTIONS.some((section) => section.name === name));
  if (unknown === undefined) return options;
  throw new Error(`there is no section ${unknown}; there are ${SECTIONS.map(({ name }) => name).join(', ')}`);
}

try {
  const options = readOptions();
  if (options.help) print(USAGE);
  else process.exitCode = (await run(options)) ? 0 : 1;
} catch (error) {
  // What fails while everything is being stopped says nothing.
  if (!isStopping) process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 2;
} finally {
  await everything.run();
}

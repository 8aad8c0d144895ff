/** `npm run test:faults`: plants each fault of `test/faults` in a copy of the repository, and sees whether its owner fails. */
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { type Fault, type Project, plant } from '../../test/faults/fault.ts';
import { FAULTS } from '../../test/faults/faults.ts';
import { git } from '../release/commands.ts';
import { copyWorkingTree } from './copy.ts';
import { type FileResult, Owners } from './owner.ts';

const USAGE = `npm run test:faults [-- NAME…]

Plants faults in a copy of the repository, one after the other, and runs the test file that must fail with each. Without
a name: all of them, and each owner without a fault first.

  --owners  runs the owners without a fault first, also with names
  --list    prints the names, and what each fault breaks
`;

const INTERRUPTED = 130;
const MAX_MESSAGE_LENGTH = 200;

const print = (text: string) => process.stdout.write(`${text}\n`);
const projectOf = ({ project = 'sqlite' }: Fault): Project => project;
const keyOf = (project: Project, path: string): string => `${project} ${path}`;
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const firstLine = (text: string): string => text.split('\n', 1)[0]?.slice(0, MAX_MESSAGE_LENGTH) ?? '';

type Verdict =
  | { readonly kind: 'caught'; readonly by: string }
  | { readonly kind: 'not caught' }
  | { readonly kind: 'broken'; readonly reason: string };

function toVerdict(results: readonly FileResult[]): Verdict {
  const failures = results.flatMap((result) => result.failures);
  const assertion = failures.find((failure) => failure.isAssertion);
  if (assertion) return { kind: 'caught', by: `${assertion.test}: ${firstLine(assertion.message)}` };
  const [failure] = failures;
  if (failure) return { kind: 'broken', reason: `no assertion failed: ${failure.test} ${failure.message}` };
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  return passed > 0 ? { kind: 'not caught' } : { kind: 'broken', reason: 'no test of its owner has run' };
}

/** The owners that fail without a fault, and why. */
async function checkOwners(owners: Owners, faults: readonly Fault[]): Promise<ReadonlyMap<string, string>> {
  const red = new Map<string, string>();
  for (const project of ['sqlite', 'postgres'] as const) {
    const ofProject = faults.filter((fault) => projectOf(fault) === project);
    const files = [...new Set(ofProject.map(({ owner }) => owner))];
    if (files.length === 0) continue;
    print(`Running ${files.length} owners without a fault (${project}).`);
    const results = await owners.run({ files, project, stopsAtFailure: false });
    for (const file of files) {
      const { failures: [failure] = [] } = results.find(({ path }) => path === file) ?? {};
      if (failure) red.set(keyOf(project, file), firstLine(`${failure.test}: ${failure.message}`));
    }
  }
  return red;
}

async function tryFault(copy: string, owners: Owners, fault: Fault): Promise<Verdict> {
  const { owner, test } = fault;
  const file = join(copy, fault.file);
  const text = readFileSync(file, 'utf8');
  try {
    writeFileSync(file, plant(fault, text));
    const tests = { files: [owner], project: projectOf(fault), test, stopsAtFailure: true };
    return toVerdict(await owners.run(tests));
  } finally {
    writeFileSync(file, text);
  }
}

const SIGNS = { caught: '✓', 'not caught': '✗ NOT CAUGHT', broken: '! BROKEN' } as const;

function report({ name, breaks, owner }: Fault, verdict: Verdict, seconds: number): void {
  print(`${SIGNS[verdict.kind]} ${name} (${seconds.toFixed(1)} s, ${basename(owner)})`);
  if (verdict.kind === 'caught') print(`    ${verdict.by}`);
  else print(`    ${breaks}`);
  if (verdict.kind === 'broken') print(`    ${verdict.reason.replaceAll('\n', '\n    ')}`);
}

async function runAll(copy: string, faults: readonly Fault[], checksOwners: boolean, signal: AbortSignal) {
  const owners = new Owners(copy, signal);
  const red = checksOwners ? await checkOwners(owners, faults) : new Map<string, string>();
  let caught = 0;
  for (const fault of faults) {
    const startedAt = performance.now();
    const reason = red.get(keyOf(projectOf(fault), fault.owner));
    const verdict: Verdict =
      reason === undefined
        ? await tryFault(copy, owners, fault).catch((error: unknown) => {
            signal.throwIfAborted();
            return { kind: 'broken', reason: messageOf(error) };
          })
        : { kind: 'broken', reason: `its owner fails without it: ${reason}` };
    report(fault, verdict, (performance.now() - startedAt) / 1000);
    if (verdict.kind === 'caught') caught += 1;
  }
  return caught;
}

/** The faults that were asked for, or what is wrong. */
function chooseFaults(names: readonly string[]): readonly Fault[] | string {
  const unknown = names.find((name) => !FAULTS.some((fault) => fault.name === name));
  if (unknown !== undefined) return `There is no fault ${unknown}. --list prints their names.`;
  return names.length === 0 ? FAULTS : FAULTS.filter(({ name }) => names.includes(name));
}

async function main(): Promise<number> {
  const options = { owners: { type: 'boolean' }, list: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const faults = chooseFaults(positionals);
  if (typeof faults === 'string') {
    process.stderr.write(`${faults}\n\n${USAGE}`);
    return 2;
  }
  if (values.list) {
    for (const { name, breaks } of faults) print(`${name}: ${breaks}`);
    return 0;
  }
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => abort.abort());
  const startedAt = performance.now();
  const copy = mkdtempSync(join(realpathSync(tmpdir()), 'leadtap-faults-'));
  try {
    copyWorkingTree(git('.', 'rev-parse', '--show-toplevel'), copy);
    const caught = await runAll(copy, faults, values.owners ?? positionals.length === 0, abort.signal);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    print(`${caught} of ${faults.length} faults are caught by an assertion of their owner, in ${seconds} s.`);
    return caught === faults.length ? 0 : 1;
  } catch (error) {
    if (abort.signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n\n${USAGE}`);
  process.exitCode = 2;
}

/**
 * The delivery trial for as long as you like: actors write leads in every supported way and cause faults, clients of all
 * kinds poll several instances, and every page is judged. Exit code 1 if anything was lost, doubled or stale.
 */
import process from 'node:process';
import type { Organisation } from 'leadtap';
import {
  remakeCompanyWithLateStamps,
  setClockBackOnEmptyFeed,
} from '../../packages/testing/delivery-trial/actors/forced.ts';
import { isFaultStatus } from '../../packages/testing/delivery-trial/declared.ts';
import {
  companyIds,
  organisationOf,
  pollersOf,
  type TrialCompany,
} from '../../packages/testing/delivery-trial/pollers/profiles.ts';
import {
  COPIED,
  installCopyingTrigger,
} from '../../packages/testing/delivery-trial/postgres/copying-trigger.ts';
import { dropColumn, FORCED_SCENES, force } from '../../packages/testing/delivery-trial/postgres/forced.ts';
import {
  changeAndPollFile,
  reinsertDuringDeleteInFile,
} from '../../packages/testing/delivery-trial/sqlite/forced.ts';
import { Trial } from '../../packages/testing/delivery-trial/trial.ts';
import { makeActors, type Phase } from './actors.ts';
import { CleanUps } from './clean-ups.ts';
import { type Environment, PREPARE } from './environment.ts';
import { soakMixed } from './mixed.ts';
import { ALL, mutationsOf, readOptions, type SoakOptions, USAGE } from './options.ts';
import { runPhase } from './phase.ts';
import {
  describeResult,
  hasFoundDefect,
  hasPassed,
  type Run,
  readSource,
  resultOf,
  type TrialResult,
  writeReport,
} from './report.ts';

const print = (text: string) => process.stdout.write(`${text}\n`);

/** A user may ask 100 times a minute and 1,000 times an hour; a client asks some 30 times a second. */
const usersOfEach = ({ seconds }: SoakOptions): number => 20 + Math.ceil((seconds * 30) / 90);

const INTERRUPTED = 130;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Only while there are faults: otherwise, each request is answered, however long that takes. */
const CLIENT_TIMEOUT_MS = 5000;

/** Its users get 404 while it is deleted. */
const REMADE = 'remade';
/** It has no lead until the clock is set back. */
const EMPTY = 'empty';
/** It is deleted and made again while its stamps are ahead of the clock. */
const LATE = 'late';

function companiesOf({ companies, actors }: SoakOptions): TrialCompany[] {
  return [
    ...companyIds(companies).map((id) => ({ id, hasWaitingClients: true })),
    ...(actors.has('remade') ? [{ id: REMADE }] : []),
    ...(actors.has('clock')
      ? [
          { id: EMPTY, isQuiet: true },
          { id: LATE, isQuiet: true },
        ]
      : []),
    ...(actors.has('copying')
      ? [
          { id: COPIED.source, isQuiet: true },
          { id: COPIED.target, isQuiet: true },
        ]
      : []),
  ];
}

async function runForced(
  { store: name, companies, actors }: SoakOptions,
  { databaseUrl, openStore }: Environment,
  trial: Trial,
): Promise<void> {
  const [companyId = '', otherCompanyId = companyId] = companyIds(companies);
  const store = await openStore();
  const scene = { companyId, otherCompanyId, trial, store };
  if (name === 'sqlite') {
    const file = databaseUrl.slice('sqlite:'.length);
    for (const act of [changeAndPollFile, reinsertDuringDeleteInFile]) await act({ ...scene, file });
  } else
    for (const act of FORCED_SCENES)
      if (act !== dropColumn || actors.has('columns')) await force({ ...scene, url: databaseUrl }, act);
  await store.close();
}

async function soak(options: SoakOptions, cleanUps: CleanUps): Promise<TrialResult> {
  const companies = companiesOf(options);
  const pollers = companies.flatMap((company) => pollersOf(company, usersOfEach(options)));
  const organisation = organisationOf(companies, pollers);
  const state = { phase: 'calm' as Phase };
  const prepared = await PREPARE[options.store](options, organisation, cleanUps);
  const timeoutMs = () => (state.phase === 'faults' ? CLIENT_TIMEOUT_MS : undefined);
  const environment = { ...prepared, installation: { ...prepared.installation, timeoutMs } };
  if (options.actors.has('copying')) await installCopyingTrigger(environment.databaseUrl);
  for (const note of environment.notes) print(note);
  print(
    `${options.store}, ${options.instances} instances, ${pollers.length} clients, ${options.seconds} s, seed ${options.seed}, mutation ${options.mutation ?? 'none'}`,
  );
  const only = (companyId: string): Organisation => ({
    companies: organisation.companies.filter(({ id }) => id === companyId),
  });
  const trial = new Trial({
    installation: environment.installation,
    pollers,
    readStored: environment.readStored,
    mayFail: ({ scope }, status) =>
      // Declared for a database that does not answer in time, as on a busy machine. The client polls again, and is judged then.
      status === 503 ||
      (state.phase === 'faults' && (status === undefined || isFaultStatus(status))) ||
      (status === 404 && scope.companyId === REMADE),
  });
  await runForced(options, environment, trial);
  const phases = phasesOf(options, environment);
  for (const phase of phases) {
    state.phase = phase;
    if (phase === 'clock steps') await runForcedSteps(environment, trial, only(LATE));
    const remade = { companyId: REMADE, organisation: only(REMADE) };
    const actors = makeActors({
      phase,
      options,
      environment,
      trial,
      companyIds: companyIds(options.companies),
      pollers,
      remade,
    });
    await runPhase(trial, {
      ...{ title: phase, actors, seconds: options.seconds / phases.length, seed: options.seed, print },
    });
  }
  return resultOf(trial, await trial.finish());
}

function phasesOf({ actors }: SoakOptions, { setClockOffset }: Environment): Phase[] {
  const hasFaults = ['crash', 'cut', 'network'].some((name) => actors.has(name));
  // Last, because stamps stay ahead of the clock then, and clients that remember a Date get them again and again.
  const steps: Phase[] = setClockOffset ? ['clock steps'] : [];
  return ['calm', ...(hasFaults ? ['faults' as const] : []), ...steps];
}

async function runForcedSteps(
  { setClockOffset, openStore, deleteCompany }: Environment,
  trial: Trial,
  late: Organisation,
): Promise<void> {
  if (!setClockOffset) return;
  const store = await openStore();
  const scene = { trial, store, setClockOffset };
  await setClockBackOnEmptyFeed({ ...scene, companyId: EMPTY });
  await remakeCompanyWithLateStamps({ ...scene, companyId: LATE, deleteCompany, organisation: late });
  await store.close();
}

async function runTrial(options: SoakOptions): Promise<TrialResult> {
  const cleanUps = new CleanUps();
  const interrupt = () => void cleanUps.run().finally(() => process.exit(INTERRUPTED));
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    const result = await (options.mixed ? soakMixed : soak)(options, cleanUps, print);
    print(`\n${describeResult(result)}`);
    print(hasPassed(result) ? '\npassed\n' : '\nfailed\n');
    return result;
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    await cleanUps.run();
  }
}

async function main(): Promise<boolean> {
  const args = process.argv.slice(2);
  const options = readOptions(args);
  if (!options) {
    print(USAGE);
    return true;
  }
  const isAll = options.mutation === ALL;
  const mutations = isAll ? [undefined, ...mutationsOf(options)] : [options.mutation];
  const runs: Run[] = [];
  const report = { args, options, source: readSource(), startedAt: new Date(), runs };
  // At the start, too: a file that cannot be written ends the trial before it begins.
  if (options.report) writeReport(options.report, report);
  for (const mutation of mutations) {
    const result = await runTrial({ ...options, mutation });
    runs.push({ mutation, result });
    if (options.report) writeReport(options.report, report);
  }
  const passed = runs.every(({ mutation, result }) =>
    isAll && mutation !== undefined ? hasFoundDefect(result) : hasPassed(result),
  );
  if (isAll) print(passed ? 'passed, and each mutation was found' : 'failed, or a mutation was not found');
  if (options.report) writeReport(options.report, { ...report, passed });
  return passed;
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : error}\n`);
  process.exitCode = 1;
}

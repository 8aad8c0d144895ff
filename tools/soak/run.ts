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
import { isFlawless } from '../../packages/testing/delivery-trial/judge/judge.ts';
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
import { soakAccounts } from './accounts.ts';
import { makeActors, type Phase } from './actors.ts';
import { loadInBulk } from './bulk.ts';
import { CleanUps } from './clean-ups.ts';
import { soakConsumers } from './consumers.ts';
import { type Environment, PREPARE } from './environment.ts';
import { soakFairness } from './fairness.ts';
import { soakIntake } from './intake.ts';
import { readOptions, type SoakOptions, USAGE } from './options.ts';
import { describeBulk, describeVerdict } from './report.ts';

const print = (text: string) => process.stdout.write(`${text}\n`);

/** A user may ask 100 times a minute and 1,000 times an hour; a client asks some 30 times a second. */
const usersOfEach = ({ seconds, bulk }: SoakOptions): number =>
  20 + Math.ceil((seconds * 30 + bulk / 50) / 90);

const INTERRUPTED = 130;

/** Its users get 404 while it is deleted. */
const REMADE = 'remade';
/** It has no lead until the clock is set back. */
const EMPTY = 'empty';
/** It is deleted and made again while its stamps are ahead of the clock. */
const LATE = 'late';
const BULK: readonly TrialCompany[] = ['bulk-1', 'bulk-2', 'bulk-3', 'bulk-4'].map((id) => ({ id }));

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

/** Every few seconds, how far it got. */
function showProgress({ recorder }: Trial, phase: Phase): NodeJS.Timeout {
  const begun = performance.now();
  return setInterval(() => {
    const seconds = Math.round((performance.now() - begun) / 1000);
    print(`  ${phase}: ${seconds} s, ${recorder.writes} writes, ${recorder.pages} pages`);
  }, 5000);
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

async function soak(options: SoakOptions, cleanUps: CleanUps): Promise<boolean> {
  const companies = companiesOf(options);
  const pollers = companies.flatMap((company) => pollersOf(company, usersOfEach(options)));
  const bulkPollers =
    options.bulk > 0 ? BULK.flatMap((company) => pollersOf(company, usersOfEach(options))) : [];
  const organisation = organisationOf(
    [...companies, ...(options.bulk > 0 ? BULK : [])],
    [...pollers, ...bulkPollers],
  );
  const environment = await PREPARE[options.store](options, organisation, cleanUps);
  if (options.actors.has('copying')) await installCopyingTrigger(environment.databaseUrl);
  for (const note of environment.notes) print(note);
  print(
    `${options.store}, ${options.instances} instances, ${pollers.length} clients, ${options.seconds} s, seed ${options.seed}, mutation ${options.mutation ?? 'none'}`,
  );
  const only = (companyId: string): Organisation => ({
    companies: organisation.companies.filter(({ id }) => id === companyId),
  });
  const state = { phase: 'calm' as Phase };
  const trial = new Trial({
    installation: environment.installation,
    pollers,
    readStored: environment.readStored,
    mayFail: ({ scope }, status) =>
      // Undefined: the connection failed.
      (state.phase === 'faults' && (status === undefined || status === 503)) ||
      // What a fault has left behind.
      (state.phase === 'clock steps' && status === 503) ||
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
    await runPhase(options.seconds / phases.length, options.seed, trial, phase, actors);
  }
  const verdict = await trial.finish();
  print(`\n${describeVerdict(verdict, trial.recorder.counts)}`);
  const isBulkFlawless = options.bulk === 0 || (await loadAll(options, environment));
  return isFlawless(verdict) && isBulkFlawless;
}

function phasesOf({ actors }: SoakOptions, { setClockOffset }: Environment): Phase[] {
  const hasFaults = actors.has('crash') || actors.has('cut');
  // Last, because stamps stay ahead of the clock then, and clients that remember a Date get them again and again.
  const steps: Phase[] = setClockOffset ? ['clock steps'] : [];
  return ['calm', ...(hasFaults ? ['faults' as const] : []), ...steps];
}

async function runPhase(
  seconds: number,
  seed: number,
  trial: Trial,
  phase: Phase,
  actors: ReturnType<typeof makeActors>,
): Promise<void> {
  for (const name of new Set(actors.map((actor) => actor.name)))
    trial.recorder.count(`actors: ${name}`, actors.filter((actor) => actor.name === name).length);
  const progress = showProgress(trial, phase);
  const end = performance.now() + seconds * 1000;
  try {
    await trial.run(actors, { seed, isEnough: () => performance.now() > end });
    await trial.recover();
  } finally {
    clearInterval(progress);
  }
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

async function loadAll(options: SoakOptions, environment: Environment): Promise<boolean> {
  const results = await loadInBulk(environment, BULK, usersOfEach(options), options.bulk);
  for (const { title, result } of results) print(`\n${describeBulk(title, result)}`);
  return results.every(({ result }) => isFlawless(result.verdict));
}

function chooseTrial({ intake, consumers, accounts, fairness }: SoakOptions): typeof soakIntake {
  if (intake) return soakIntake;
  if (fairness) return soakFairness;
  if (accounts) return soakAccounts;
  return consumers ? soakConsumers : soak;
}

async function main(): Promise<boolean> {
  const options = readOptions(process.argv.slice(2));
  if (!options) {
    print(USAGE);
    return true;
  }
  const cleanUps = new CleanUps();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void cleanUps.run().finally(() => process.exit(INTERRUPTED)));
  try {
    const flawless = await chooseTrial(options)(options, cleanUps, print);
    print(flawless ? '\npassed' : '\nfailed');
    return flawless;
  } finally {
    await cleanUps.run();
  }
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : error}\n`);
  process.exitCode = 1;
}

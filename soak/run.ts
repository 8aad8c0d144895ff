/**
 * Does anybody ever lose a lead? Programs write with plain SQL, commit out of order, roll back and are cut off; pollers of
 * three kinds ask two instances; then one statement loads many leads. Ends with 1 if a promise was broken.
 */
import process from 'node:process';
import { LOAD_FORMS } from '../packages/server/test/delivery/trial/bulk-load.ts';
import { companyIds, seatsOf } from '../packages/server/test/delivery/trial/seats.ts';
import { Trial } from '../packages/server/test/delivery/trial/trial.ts';
import { weaken } from '../packages/server/test/delivery/trial/weaknesses.ts';
import { loadInBulk } from './bulk.ts';
import { CleanUps } from './clean-ups.ts';
import { install, type SoakInstallation } from './installation.ts';
import { readOptions, type SoakOptions, USAGE } from './options.ts';
import { describeBulk, describeVerdict, isFlawless } from './report.ts';
import { openServers } from './servers.ts';

const print = (text: string) => process.stdout.write(`${text}\n`);

/** A user may ask 100 times a minute and 1,000 times an hour; a poller asks some 30 times a second. */
const usersOfASeat = ({ seconds, bulk }: SoakOptions): number =>
  20 + Math.ceil((seconds * 30 + bulk / 50) / 90);

/** Every few seconds, how far it got. */
function showProgress(trial: Trial, begun: number): NodeJS.Timeout {
  return setInterval(() => {
    const seconds = Math.round((performance.now() - begun) / 1000);
    print(`${String(seconds).padStart(5)} s  ${trial.ledger.committed.size} leads, ${trial.polls} polls`);
  }, 5000);
}

async function write(trial: Trial, { seconds, writers, seed }: SoakOptions): Promise<void> {
  const begun = performance.now();
  const progress = showProgress(trial, begun);
  try {
    await trial.write({ writers, seed, isEnough: () => performance.now() - begun > seconds * 1000 });
  } finally {
    clearInterval(progress);
  }
}

async function loadAll(
  databaseUrl: string,
  installation: SoakInstallation,
  options: SoakOptions,
): Promise<boolean> {
  let flawless = true;
  for (const [index, form] of LOAD_FORMS.entries()) {
    // Companies of its own for each, so that all that they hold is what was loaded.
    const seats = bulkSeats(options).slice(index * 2 * 9, (index + 1) * 2 * 9);
    const result = await loadInBulk({ databaseUrl, installation, seats, rows: options.bulk, form });
    print(`\n${describeBulk(`${form} of ${options.bulk.toLocaleString('en')} leads`, result)}`);
    flawless &&= isFlawless(result.verdict);
  }
  return flawless;
}

const bulkSeats = (options: SoakOptions) =>
  ['bulk-1', 'bulk-2', 'bulk-3', 'bulk-4'].flatMap((companyId) => seatsOf(companyId, usersOfASeat(options)));

async function soak(options: SoakOptions, cleanUps: CleanUps): Promise<boolean> {
  const seats = companyIds(options.companies).flatMap((companyId) =>
    seatsOf(companyId, usersOfASeat(options)),
  );
  const servers = await openServers(cleanUps);
  const { databaseUrl } = servers;
  const installation = await install(servers, [...seats, ...bulkSeats(options)], options.instances, cleanUps);
  if (options.naive) await weaken(databaseUrl, 'stamps by the clock alone');
  print(
    `${options.writers} writers, ${seats.length} pollers, ${options.instances} instances, ${options.seconds} s`,
  );
  const trial = new Trial({ databaseUrl, installation, seats });
  await trial.interleave();
  await write(trial, options);
  const verdict = await trial.finish();
  const unlocked = await installation.metric('leadtap_polls_unlocked_total');
  print(`\n${describeVerdict(verdict)}\n${unlocked} polls were answered without the lock`);
  const isBulkFlawless =
    options.bulk === 0 || options.naive || (await loadAll(databaseUrl, installation, options));
  return isFlawless(verdict) && isBulkFlawless;
}

async function main(): Promise<boolean> {
  const options = readOptions(process.argv.slice(2));
  if (!options) {
    print(USAGE);
    return true;
  }
  const cleanUps = new CleanUps();
  try {
    const flawless = await soak(options, cleanUps);
    print(flawless ? '\nnothing was lost' : '\npromises were broken');
    return flawless;
  } finally {
    await cleanUps.run();
  }
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

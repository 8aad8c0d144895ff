/** `--accounts`: requests are under way while their accounts change. */
import {
  type AccountRaceVerdict,
  organisationOf,
  runAccountRaces,
} from '../../packages/testing/delivery-trial/accounts/account-races.ts';
import {
  changeBehindPostgresWriter,
  changeBehindSqliteWriter,
} from '../../packages/testing/delivery-trial/accounts/change-behind-writer.ts';
import type { CleanUps } from './clean-ups.ts';
import { PREPARE } from './environment.ts';
import type { SoakOptions } from './options.ts';
import type { TrialResult } from './result.ts';

/** Each has one race at a time. */
const COMPANIES = 8;
const PROGRESS_EVERY_MS = 10_000;

/** Fails if a lead was returned or stored after the change of its account. */
export async function soakAccounts(
  options: SoakOptions,
  cleanUps: CleanUps,
  print: (text: string) => void,
): Promise<TrialResult> {
  const { races, seed, instances, store: storeName } = options;
  const size = { races, companies: COMPANIES };
  const environment = await PREPARE[storeName](
    { ...options, actors: new Set() },
    organisationOf(size),
    cleanUps,
  );
  const { installation, databaseUrl, openStore } = environment;
  print(`${storeName}, ${instances} instances, ${races} races, seed ${seed}`);
  const store = await openStore();
  cleanUps.add(() => store.close());
  const changeBehindWriter =
    storeName === 'postgres'
      ? changeBehindPostgresWriter(databaseUrl)
      : changeBehindSqliteWriter(databaseUrl.slice('sqlite:'.length), store);
  let done = 0;
  const progress = setInterval(() => print(`  ${done} races`), PROGRESS_EVERY_MS);
  try {
    const verdict = await runAccountRaces({
      ...size,
      ...{ urls: installation.urls, token: installation.token, store, changeBehindWriter, seed },
      onProgress: (count) => {
        done = count;
      },
    });
    print(`\n${describe(verdict)}`);
    const { counts, late, wrong } = verdict;
    const changes = [...counts].map(([title, statuses]) => [title, sum([...statuses.values()])]);
    return { figures: { races }, faults: Object.fromEntries(changes), findings: { late, wrong } };
  } finally {
    clearInterval(progress);
  }
}

const SHOWN = 10;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function describe({ counts, late, wrong }: AccountRaceVerdict): string {
  const rows = [...counts].sort().map(([title, statuses]) => {
    const texts = [...statuses].sort().map(([status, count]) => `${count} × ${status}`);
    return `  ${title.padEnd(34)}${texts.join(', ')}`;
  });
  return [
    ...rows,
    `  leads after the change            ${late.length}`,
    ...late.slice(0, SHOWN).map((sentence) => `    ${sentence}`),
    `  wrong answers                     ${wrong.length}`,
    ...wrong.slice(0, SHOWN).map((sentence) => `    ${sentence}`),
  ].join('\n');
}

/**
 * `--mixed`: everything at once on several instances with PostgreSQL and Redis, with faults of the network. Nothing may be lost, no
 * error may be undeclared, and the instances must not need more at the end than after the first tenth.
 */
import type { Organisation } from 'leadtap';
import { type Actor, inBursts } from '../../packages/testing/delivery-trial/actor.ts';
import { httpSender, sendersOf } from '../../packages/testing/delivery-trial/actors/http-sender.ts';
import { importProcess } from '../../packages/testing/delivery-trial/actors/import-process.ts';
import { networkFaults } from '../../packages/testing/delivery-trial/actors/network-faults.ts';
import { packageWriter } from '../../packages/testing/delivery-trial/actors/package-writer.ts';
import { changedModules, type Replacement } from '../../packages/testing/delivery-trial/changed-modules.ts';
import { isFaultStatus } from '../../packages/testing/delivery-trial/declared.ts';
import { SHORT_TIMES } from '../../packages/testing/delivery-trial/hooks/changed-sender.ts';
import {
  COMPANIES as HOOK_COMPANIES,
  ORGANISATION as HOOK_ORGANISATION,
  type HookTrialVerdict,
  hostsOf,
  runHookTrial,
  startHookClients,
} from '../../packages/testing/delivery-trial/hooks/hook-trial.ts';
import { LeadClients } from '../../packages/testing/delivery-trial/hooks/lead-clients.ts';
import {
  consoleRequests,
  loadEveryPage,
} from '../../packages/testing/delivery-trial/mixed/console-requests.ts';
import {
  MIXED_MUTATIONS,
  type MixedMutation,
} from '../../packages/testing/delivery-trial/mixed/mutations.ts';
import { tokenRevocations } from '../../packages/testing/delivery-trial/mixed/token-revocations.ts';
import {
  companyIds,
  organisationOf,
  pollersOf,
} from '../../packages/testing/delivery-trial/pollers/profiles.ts';
import {
  CONTENDED_IDS,
  contentionWriter,
} from '../../packages/testing/delivery-trial/postgres/contention-writer.ts';
import { insertWriter } from '../../packages/testing/delivery-trial/postgres/insert-writer.ts';
import { readStoredFrom } from '../../packages/testing/delivery-trial/postgres/stored.ts';
import { Trial } from '../../packages/testing/delivery-trial/trial.ts';
import type { CleanUps } from './clean-ups.ts';
import { type Environment, PREPARE } from './environment.ts';
import { InstanceLog } from './instance-log.ts';
import type { SoakOptions } from './options.ts';
import { runPhase } from './phase.ts';
import { resultOf, type TrialResult } from './report.ts';
import { compareUsage, readQuietUsage, type Usage, usageFigures } from './resources.ts';

/** A client polls a few times a second, and a user may poll 100 times a minute and 1,000 times an hour. */
const USERS_OF_EACH = 12;
/** Longer than all timeouts of an instance, in a run that is long enough for it. */
const MAX_FAULT_MS = 8000;
const maxFaultMsOf = (seconds: number): number => Math.min(MAX_FAULT_MS, 50 * seconds);
/** In a shorter run, clients wait for as long as it takes: with short timeouts, a busy machine would answer them nothing. */
const MIN_SECONDS_FOR_CLIENT_TIMEOUTS = 60;
/** Of the pool: by default it closes idle connections after 10 s, and the trial would have to wait for that. */
const SHORT_IDLE_TIME: Replacement = {
  module: 'store/postgres/connection.js',
  part: 'keepAlive: true,',
  by: 'keepAlive: true, idleTimeoutMillis: 1000,',
};
const HOOK_LEADS_PER_S = 2;
const SECONDS_PER_REVOCATION = 8;
const CONSOLE_USERS = 20;
/** Of the seconds. */
const SHARES = [0.1, 0.9];
const ROUNDS = ['the first tenth', 'the rest'];
const LAST_ROUND = SHARES.length - 1;
/** Caches fill, and the compiler works: in a short run, memory says nothing. */
const MIN_SECONDS_FOR_MEMORY = 600;

const accountIds = (seconds: number) => ({
  console: Array.from({ length: CONSOLE_USERS }, (_, index) => `console-${index + 1}`),
  revoked: Array.from(
    { length: 2 * Math.ceil(seconds / SECONDS_PER_REVOCATION) },
    (_, index) => `revoked-${index + 1}`,
  ),
});

/** A company that gets no leads. */
const accountsCompany = (userIds: readonly string[]): Organisation['companies'][number] => ({
  ...{ id: 'accounts', name: 'Accounts', branches: [] },
  users: userIds.map((id) => ({
    ...{ id, plan: 'PROFESSIONAL', accessLevel: 'COMPANY', branchId: null, departmentId: null },
  })),
});

export async function soakMixed(
  options: SoakOptions,
  cleanUps: CleanUps,
  print: (text: string) => void,
): Promise<TrialResult> {
  const { seconds, seed, instances, mutation } = options;
  const hookClients = await startHookClients(seed, ['window', 'position']);
  const leadClients = await LeadClients.start(seed, HOOK_COMPANIES);
  const receivers = [...hookClients.map(({ receiver }) => receiver), ...leadClients.receivers];
  cleanUps.add(() => Promise.all(receivers.map((receiver) => receiver.close())));
  const ids = companyIds(options.companies);
  const companies = ids.map((id, index) => ({ id, hasWaitingClients: index === 0 }));
  const pollers = companies.flatMap((company) => pollersOf(company, USERS_OF_EACH));
  const accounts = accountIds(seconds);
  const organisation: Organisation = {
    companies: [
      ...organisationOf(companies, pollers).companies,
      ...HOOK_ORGANISATION.companies,
      accountsCompany([...accounts.console, ...accounts.revoked]),
    ],
  };
  const defect = mutation ? MIXED_MUTATIONS[mutation as MixedMutation] : [];
  const log = new InstanceLog();
  const environment = await PREPARE.postgres(
    { ...options, actors: new Set(['network']), mutation: undefined },
    organisation,
    cleanUps,
    {
      env: {
        LEADTAP_HOOK_HOSTS: hostsOf(hookClients, leadClients),
        ...changedModules([...SHORT_TIMES, SHORT_IDLE_TIME, ...defect]),
      },
      onLogLine: (instance, line) => log.read(instance, line),
    },
  );
  const { databaseUrl } = environment;
  const timeoutMs = seconds < MIN_SECONDS_FOR_CLIENT_TIMEOUTS ? undefined : MAX_FAULT_MS;
  const installation = { ...environment.installation, timeoutMs: () => timeoutMs };
  for (const note of environment.notes) print(note);
  print(
    `${instances} instances, ${pollers.length} clients, ${receivers.length} webhooks, ${seconds} s, seed ${seed}, mutation ${mutation ?? 'none'}`,
  );
  const store = await environment.openStore();
  cleanUps.add(() => store.close());
  const trial = new Trial({
    installation,
    pollers,
    readStored: readStoredFrom(databaseUrl, ids),
    mayFail: (_client, status) => status === undefined || isFaultStatus(status),
  });
  await loadEveryPage(installation.directUrls, installation.privateUrls);
  const usages: Usage[][] = [];
  let hookVerdict: HookTrialVerdict | undefined;
  for (const [round, share] of SHARES.entries()) {
    const roundSeconds = seconds * share;
    const hooks = runHookTrial({
      ...{ clients: hookClients, leadClients, installation, store, crashes: [], msPerCrash: 0 },
      ...{ leads: Math.ceil(roundSeconds * HOOK_LEADS_PER_S), seconds: roundSeconds, seed: seed + round },
    });
    await runPhase(trial, {
      ...{ title: ROUNDS[round] ?? '', seconds: roundSeconds, seed: seed + round, print, beside: hooks },
      actors: makeActors({
        ...{ environment, installation, pollers, accounts, seconds, round },
        companyIds: ids,
      }),
    });
    hookVerdict = await hooks;
    print('  quiet: the clients disconnect, and the resources are read');
    usages.push(await readQuietUsage(environment, usages[0]));
  }
  print('  every page is judged');
  const { figures, faults, findings } = resultOf(trial, await trial.finish());
  const [first = [], last = []] = usages;
  const lostByHooks = (hookVerdict?.clients ?? []).flatMap(({ userId, lost }) =>
    lost.map((id) => `${userId} never got ${id}, which was announced by webhooks`),
  );
  const sentLeads = hookVerdict?.leadClients ?? [];
  const lostLeads = sentLeads.flatMap(({ lost }) => lost);
  const broken = sentLeads.flatMap(({ outOfOrder, otherIds }) => [...outOfOrder, ...otherIds]);
  const hidden = sentLeads.flatMap((client) => client.hidden);
  const sum = (of: (client: (typeof sentLeads)[number]) => number) =>
    sentLeads.reduce((total, client) => total + of(client), 0);
  const receiverFaults = [...(hookVerdict?.faults ?? [])].map(
    ([name, count]) => [`receiver: ${name}`, count] as const,
  );
  return {
    figures: {
      ...{ ...figures, leads: figures.leads + (hookVerdict?.leads ?? 0) },
      ...{ ...log.figures(), ...usageFigures(first, last), ...leadClients.figures() },
      'requests with leads': sum(({ requests }) => requests),
      'requests with leads, repeated': sum(({ doubles }) => doubles),
    },
    faults: { ...faults, ...Object.fromEntries(receiverFaults) },
    findings: {
      ...{ ...findings, lost: [...findings.lost, ...lostByHooks, ...lostLeads], undeclared: log.undeclared },
      broken: [...findings.broken, ...broken],
      stale: [...findings.stale, ...hidden],
      leaked: compareUsage(first, last, { hasMemory: seconds >= MIN_SECONDS_FOR_MEMORY }),
    },
  };
}

interface Stage {
  readonly environment: Environment;
  readonly installation: Environment['installation'];
  readonly companyIds: readonly string[];
  readonly pollers: ReturnType<typeof pollersOf>;
  readonly accounts: ReturnType<typeof accountIds>;
  readonly seconds: number;
  readonly round: number;
}

function makeActors(stage: Stage): Actor[] {
  const { environment, installation, companyIds, pollers, accounts, seconds, round } = stage;
  const { databaseUrl, links, openStore } = environment;
  const { directUrls, privateUrls, spawnLeadtap } = installation;
  const name = (text: string) => `${text}-${round + 1}`;
  const shared = { companyIds, contendedIds: CONTENDED_IDS, toleratesFaults: true };
  const half = accounts.revoked.length / 2;
  return [
    ...['sql-1', 'sql-2'].map((text) => inBursts(5, 2000, insertWriter(databaseUrl, name(text), companyIds))),
    inBursts(5, 3000, contentionWriter(databaseUrl, name('contender'), companyIds)),
    inBursts(
      5,
      2000,
      packageWriter({ companyIds, contendedIds: CONTENDED_IDS, name: name('package'), openStore }),
    ),
    inBursts(1, 8000, importProcess({ ...shared, name: name('import'), spawnLeadtap })),
    ...['http-1', 'http-2'].map((text) =>
      inBursts(
        5,
        1500,
        httpSender({ name: name(text), installation, users: sendersOf(pollers), toleratesFaults: true }),
      ),
    ),
    consoleRequests({ installation, userIds: accounts.console, privateUrls }),
    tokenRevocations({
      ...{ installation, directUrls, openStore },
      userIds: accounts.revoked.slice(round * half, (round + 1) * half),
    }),
    networkFaults({ links, maxFaultMs: maxFaultMsOf(seconds), isThorough: round === LAST_ROUND }),
  ];
}

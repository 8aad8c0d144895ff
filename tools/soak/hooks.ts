/** `--hooks`: clients poll on webhook events alone, while receivers fail, and instances and the database crash. */
import {
  changedSender,
  type HookMutation,
} from '../../packages/testing/delivery-trial/hooks/changed-sender.ts';
import { HOOK_CLIENT_KINDS } from '../../packages/testing/delivery-trial/hooks/hook-client.ts';
import {
  type HookTrialVerdict,
  hostsOf,
  ORGANISATION,
  runHookTrial,
  startHookClients,
} from '../../packages/testing/delivery-trial/hooks/hook-trial.ts';
import type { CleanUps } from './clean-ups.ts';
import { PREPARE } from './environment.ts';
import type { SoakOptions } from './options.ts';
import type { TrialResult } from './result.ts';

const MS_PER_CRASH = 4000;

/** Fails if a client has lost a lead. */
export async function soakHooks(
  options: SoakOptions,
  cleanUps: CleanUps,
  print: (text: string) => void,
): Promise<TrialResult> {
  const { store: storeName, instances, seconds, leads, seed, mutation } = options;
  const clients = await startHookClients(seed);
  cleanUps.add(() => Promise.all(clients.map(({ receiver }) => receiver.close())));
  const environment = await PREPARE[storeName](
    { ...options, actors: new Set(), mutation: undefined },
    ORGANISATION,
    cleanUps,
    {
      env: { LEADTAP_HOOK_HOSTS: hostsOf(clients), ...changedSender(mutation as HookMutation | undefined) },
    },
  );
  const { installation, server, openStore } = environment;
  print(
    `${storeName}, ${instances} instances, ${clients.length} clients, ${leads} leads in ${seconds} s, seed ${seed}, mutation ${mutation ?? 'none'}`,
  );
  const store = await openStore();
  cleanUps.add(() => store.close());
  const crashInstances = Array.from({ length: instances }, (_, index) => () => installation.crash(index));
  const verdict = await runHookTrial({
    ...{ clients, installation, store, leads, seconds, seed, msPerCrash: MS_PER_CRASH },
    crashes: [...crashInstances, ...(server ? [() => server.restart('immediate')] : [])],
  });
  print(`\n${describe(verdict)}`);
  return {
    figures: {
      leads: verdict.leads,
      polls: sum(verdict.clients.map(({ polls }) => polls)),
      events: sum(verdict.clients.map(({ events }) => events)),
    },
    faults: { crashes: verdict.crashes, ...Object.fromEntries(verdict.faults) },
    findings: {
      lost: verdict.clients.flatMap(({ userId, lost }) => lost.map((id) => `${userId} never got ${id}`)),
      redirects: verdict.clients
        .filter(({ followedRedirects }) => followedRedirects > 0)
        .map(({ userId, followedRedirects }) => `${userId}: ${followedRedirects} redirects were followed`),
    },
  };
}

const SHOWN = 5;

function describe({ leads, crashes, faults, clients }: HookTrialVerdict): string {
  const row = (name: string, ...cells: readonly (number | string)[]) =>
    `  ${name.padEnd(34)}${cells.map((cell) => cell.toLocaleString('en').padStart(11)).join('')}`;
  const columns = ['expected', 'lost', 'events', 'polls', 'ignored', 'repeated'] as const;
  return [
    row('leads', leads),
    row('crashes of instances and database', crashes),
    row('redirects followed', sum(clients.map(({ followedRedirects }) => followedRedirects))),
    ...[...faults].sort().map(([fault, count]) => row(`receiver: ${fault}`, count)),
    '',
    row('clients by kind', 'clients', ...columns),
    ...HOOK_CLIENT_KINDS.map((kind) => {
      const own = clients.filter((client) => client.kind === kind);
      const total = (column: (typeof columns)[number]) =>
        sum(own.map(({ [column]: value }) => (typeof value === 'number' ? value : value.length)));
      return row(kind, own.length, ...columns.map(total));
    }),
    ...clients
      .filter(({ lost }) => lost.length > 0)
      .map(({ userId, lost }) => `    ${userId} lost ${lost.slice(0, SHOWN).join(', ')} …`),
  ].join('\n');
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

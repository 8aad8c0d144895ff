/** `--intake`: senders post leads over HTTP with retries while instances are killed. */
import type { Organisation, UserInput } from 'leadtap';
import {
  type CrashTrialVerdict,
  runCrashTrial,
} from '../../packages/testing/delivery-trial/intake/crash-trial.ts';
import type { CleanUps } from './clean-ups.ts';
import { PREPARE } from './environment.ts';
import type { SoakOptions } from './options.ts';
import type { TrialResult } from './result.ts';

const SENDERS = 8;
const REQUESTS_PER_KILL = 500;
const PROGRESS_EVERY_MS = 5000;

/** A user may send 600 times a minute and poll 100 times a minute. These can do more than any machine takes. */
const usersOf = (companyId: string): UserInput[] =>
  Array.from({ length: 400 }, (_, index) => ({
    id: `${companyId}.${index + 1}`,
    plan: 'PROFESSIONAL',
    accessLevel: 'COMPANY',
    branchId: null,
    departmentId: null,
  }));

const organisationOf = (companies: number): Organisation => ({
  companies: Array.from({ length: companies }, (_, index) => {
    const id = `company-${index + 1}`;
    return { id, name: id, branches: [], users: usersOf(id) };
  }),
});

/** Fails if a lead was lost or doubled. */
export async function soakIntake(
  options: SoakOptions,
  cleanUps: CleanUps,
  print: (text: string) => void,
): Promise<TrialResult> {
  const organisation = organisationOf(options.companies);
  const { installation } = await PREPARE[options.store](
    { ...options, actors: new Set() },
    organisation,
    cleanUps,
  );
  print(
    `${options.store}, ${options.instances} instances, ${SENDERS} senders, ${options.requests} requests, seed ${options.seed}`,
  );
  let done = 0;
  const begun = performance.now();
  const seconds = () => Math.round((performance.now() - begun) / 1000);
  const progress = setInterval(() => print(`  ${seconds()} s, ${done} requests`), PROGRESS_EVERY_MS);
  try {
    const verdict = await runCrashTrial({
      urls: installation.urls,
      token: installation.token,
      users: Object.fromEntries(
        organisation.companies.map(({ id, users }) => [id, users.map((user) => user.id)]),
      ),
      kill: (index) => installation.crash(index),
      senders: SENDERS,
      requests: options.requests,
      requestsPerKill: REQUESTS_PER_KILL,
      seed: options.seed,
      onProgress: (count) => {
        done = count;
      },
    });
    print(`\n${describe(verdict, seconds())}`);
    const { requests, retries, kills, acknowledged, abandoned, polled, lost, doubled, unknown } = verdict;
    return {
      figures: { requests, retries, leads: acknowledged, delivered: polled },
      faults: { 'instance crashes': kills, 'leads whose sender gave up': abandoned },
      findings: { lost, doubled, unknown },
    };
  } finally {
    clearInterval(progress);
  }
}

const MAX_SENTENCES = 5;

function describe(verdict: CrashTrialVerdict, seconds: number): string {
  const { lost, doubled, unknown, ...counts } = verdict;
  const row = (name: string, count: number) =>
    `  ${name.padEnd(52)}${count.toLocaleString('en').padStart(10)}`;
  const findings: [string, readonly string[]][] = [
    ['lost: acknowledged, but not delivered as acknowledged', lost],
    ['doubled', doubled],
    ['delivered, but never sent', unknown],
  ];
  return [
    row('seconds', seconds),
    row('requests, without retries', counts.requests),
    row('retries', counts.retries),
    row('kills with SIGKILL', counts.kills),
    row('leads acknowledged', counts.acknowledged),
    row('leads whose sender gave up', counts.abandoned),
    row('of them stored', counts.abandonedStored),
    row('leads delivered', counts.polled),
    ...findings.flatMap(([name, sentences]) => [
      row(name, sentences.length),
      ...sentences.slice(0, MAX_SENTENCES).map((sentence) => `      ${sentence}`),
    ]),
  ].join('\n');
}

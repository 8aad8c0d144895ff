/** `--consumers`: five consumers poll while they and instances are killed; then their own records are compared with `leads show`. */
import { setTimeout as wait } from 'node:timers/promises';
import { leadStateOf, type PositionTimes } from '@leadtap/contract';
import type { Organisation } from 'leadtap';
import {
  type PositionTrial,
  runPositionTrial,
  type State,
} from '../../packages/testing/delivery-trial/consumers/position-trial.ts';
import {
  CONSUMER_KINDS,
  type ConsumerKind,
} from '../../packages/testing/delivery-trial/consumers/trial-consumer.ts';
import { Random } from '../../packages/testing/delivery-trial/random.ts';
import type { CleanUps } from './clean-ups.ts';
import { PREPARE } from './environment.ts';
import type { SoakInstallation } from './installation.ts';
import type { SoakOptions } from './options.ts';
import type { TrialResult } from './result.ts';

const COMPANY = 'acme';
const LEADS = 10_000;
/** Each starts a process. The other leads are compared with `leadtap consumers`. */
const SHOWN_LEADS = 200;
/** Polls are written every 5 seconds. */
const FLUSH_MS = 5000;
const WINDOW_MS = FLUSH_MS + 500;
/** A user may poll 100 times a minute and 1,000 times an hour. */
const PAUSE_MS = 650;
const MAX_POLLS = 950;
const SECONDS_PER_CRASH = 15;

const ORGANISATION: Organisation = {
  companies: [
    {
      id: COMPANY,
      name: COMPANY,
      branches: [],
      users: CONSUMER_KINDS.map((id) => ({
        id,
        plan: 'PROFESSIONAL',
        accessLevel: 'COMPANY',
        branchId: null,
        departmentId: null,
      })),
    },
  ],
};

/** Fails if an answer was wrong. */
export async function soakConsumers(
  options: SoakOptions,
  cleanUps: CleanUps,
  print: (text: string) => void,
): Promise<TrialResult> {
  const { seconds, seed, instances, store: storeName } = options;
  const environment = await PREPARE[storeName]({ ...options, actors: new Set() }, ORGANISATION, cleanUps);
  const { installation } = environment;
  const polls = Math.min(MAX_POLLS, Math.ceil((seconds * 1000) / PAUSE_MS));
  const crashes = Math.max(1, Math.floor(seconds / SECONDS_PER_CRASH));
  print(
    `${storeName}, ${instances} instances, ${LEADS} leads, ${polls} polls of each consumer, seed ${seed}`,
  );
  const store = await environment.openStore();
  cleanUps.add(() => store.close());
  const tokens = await Promise.all(
    CONSUMER_KINDS.map(async (kind) => [kind, await installation.token(kind)] as const),
  );
  const trial = await runPositionTrial({
    ...{ urls: installation.urls, leads: LEADS, polls, crashes, seed },
    ...{ pauseMs: PAUSE_MS, maxLimit: 100, waitS: 1 },
    tokens: Object.fromEntries(tokens) as Record<ConsumerKind, string>,
    addLeads: async (count) => {
      await store.writeLeads(Array.from({ length: count }, () => ({ companyId: COMPANY, fields: {} })));
    },
    crash: async (index) => {
      const lostFrom = Date.now() - WINDOW_MS;
      await installation.crash(index);
      return lostFrom;
    },
  });
  await wait(FLUSH_MS + 1000);
  const leads = await store.listLeads({ since: 0, limit: 2 * LEADS });
  return compare(
    trial,
    leads.map(({ lead }) => lead),
    installation,
    new Random(seed),
    print,
  );
}

interface Position extends PositionTimes<string> {
  readonly userId: string;
}

async function compare(
  trial: PositionTrial,
  leads: readonly { readonly id: string; readonly createdAt: number }[],
  installation: SoakInstallation,
  random: Random,
  print: (text: string) => void,
): Promise<TrialResult> {
  const positions: Position[] = JSON.parse(await run(installation, 'consumers', '--json'));
  const shown = new Set(Array.from({ length: SHOWN_LEADS }, () => random.below(leads.length)));
  const counts = { confirmed: 0, delivered: 0, waiting: 0, skipped: 0 };
  const wrong: string[] = [];
  let exact = 0;
  for (const [index, { id, createdAt }] of leads.entries()) {
    const states = shown.has(index) ? await showLead(installation, id) : undefined;
    for (const kind of CONSUMER_KINDS) {
      const position = positions.find(({ userId }) => userId === kind);
      const time = new Date(createdAt).toISOString();
      const state = position
        ? leadStateOf(position, { createdAt: time, automation_created_at: time })
        : 'waiting';
      const allowed = trial.allowedStates(kind, createdAt);
      counts[state] += 1;
      if (allowed.size === 1) exact += 1;
      if (!allowed.has(state)) wrong.push(`${kind}, lead ${id}: ${state}, not ${[...allowed].join(' or ')}`);
      if (states && states.get(kind) !== state)
        wrong.push(`${kind}, lead ${id}: leads show has ${states.get(kind)}, consumers has ${state}`);
    }
  }
  const consumerCrashes = trial.consumers.flatMap(({ crashes }) => crashes).length;
  const pairs = leads.length * CONSUMER_KINDS.length;
  print(`
  instances killed with SIGKILL    ${trial.instanceCrashes}
  crashes of consumers             ${consumerCrashes}
  pairs of a lead and a consumer   ${pairs}: ${JSON.stringify(counts)}
  of them decided by no poll right before a crash   ${exact}
  compared with \`leads show\`       ${shown.size * CONSUMER_KINDS.length}
  wrong                            ${wrong.length}`);
  for (const sentence of wrong.slice(0, 10)) print(`    ${sentence}`);
  return {
    figures: { leads: leads.length, pairs, exact },
    faults: { 'instance crashes': trial.instanceCrashes, 'consumer crashes': consumerCrashes },
    findings: { wrong },
  };
}

async function showLead(installation: SoakInstallation, id: string): Promise<ReadonlyMap<string, State>> {
  const lead: { consumers: { userId: string; state: State }[] } = JSON.parse(
    await run(installation, 'leads', 'show', id, '--json'),
  );
  return new Map(lead.consumers.map(({ userId, state }) => [userId, state]));
}

async function run({ spawnLeadtap }: SoakInstallation, ...argv: readonly string[]): Promise<string> {
  const child = spawnLeadtap(argv);
  let text = '';
  for await (const chunk of child.stdout) text += chunk;
  return text;
}

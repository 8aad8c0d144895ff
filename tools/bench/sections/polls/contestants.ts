import { startBaseline } from '../../baselines/baseline.ts';
import { expectSameAnswer, leastAnswer, sameAnswer } from '../../baselines/canned-answers.ts';
import type { Canned, CannedAnswer } from '../../baselines/messages.ts';
import type { Load } from '../../load/messages.ts';
import { pollOnce } from '../../load/poll-once.ts';
import type { Bench } from '../../section.ts';
import type { Deployment, Deployments } from './deployments.ts';
import { KINDS, type Kind } from './kinds.ts';
import { handWrittenSet, ONE_FULL_IN, queryOf, requestSet } from './request-sets.ts';
import { SteadyImport } from './steady-import.ts';

/** Who is measured. */
export interface Contestant {
  readonly name: string;
  readonly ports: readonly number[];
  readonly processes: Load['processes'];
  /** Whose requests it gets: those of its own database. */
  readonly requests: string;
  /** Kinds that say nothing about it. */
  readonly without: readonly Kind[];
  /** What must be done before and after a round of this kind. */
  prepare(kind: Kind): Promise<void>;
  finish(kind: Kind): Promise<void>;
}

export type CannedAnswers = ReadonlyMap<Kind, readonly CannedAnswer[]>;

export const BARE = 'bare node:http, same bytes';
export const LEAST = 'bare node:http, two headers';
const doNothing = async () => undefined;

export const HAND_WRITTEN = 'hand-written node:http + pg';

const TITLES = { sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'PostgreSQL + Redis' };

/** The name of the contestant, as the tables have it. */
export const titleOf = (deployment: keyof typeof TITLES, instances = 1): string =>
  `Leadtap, ${TITLES[deployment]}${instances === 1 ? '' : `, ${instances} instances`}`;

function ofDeployment(
  title: string,
  deployment: Deployment,
  count: number,
  imported: SteadyImport,
): Contestant {
  const instances = deployment.instances.slice(0, count);
  return {
    name: title,
    ports: instances.map(({ port }) => port),
    processes: { server: instances.map(({ pid }) => pid), ...deployment.servers },
    requests: deployment.name,
    // A second instance says nothing new about these.
    without: count === 1 ? [] : ['many', 'newest', 'apart', 'history'],
    prepare: async (kind) => {
      for (const instance of instances) instance.emptyLog();
      if (kind === 'import') imported.start();
    },
    finish: async () => imported.pause(),
  };
}

/** One real answer of each kind. */
export async function captureAnswers({
  instances: [instance],
  accounts,
}: Deployment): Promise<CannedAnswers> {
  const [account] = accounts;
  if (!instance || !account) throw new Error('there is no instance or account');
  const ask = (query: string) => pollOnce(instance.port, account.token, query);
  const answers = new Map<Kind, CannedAnswer[]>();
  for (const kind of Object.keys(KINDS) as Kind[])
    answers.set(kind, [await ask(queryOf(kind, account.feed, 1))]);
  const { empty, since } = { empty: answers.get('empty') ?? [], since: answers.get('since') ?? [] };
  answers.set('mixed', [...since, ...Array.from({ length: ONE_FULL_IN - 1 }, () => empty).flat()]);
  return answers;
}

async function bareContestant(
  bench: Bench,
  name: string,
  answers: CannedAnswers,
  trim: (answer: CannedAnswer) => CannedAnswer,
): Promise<Contestant> {
  const server = bench.cleanup.own(await startBaseline('bare'));
  const canned = (kind: Kind): Canned => ({ answers: (answers.get(kind) ?? []).map(trim) });
  const prepare = (kind: Kind) => server.answer(canned(kind));
  if (trim === sameAnswer)
    for (const [kind, [answer]] of answers) {
      await prepare(kind);
      if (answer) expectSameAnswer(answer, await pollOnce(server.port, '', ''));
    }
  const processes = { server: [server.pid] };
  return {
    name,
    ports: [server.port],
    processes,
    requests: 'bare',
    // Without a Link there is none to follow.
    without: trim === leastAnswer ? ['import'] : [],
    prepare,
    finish: doNothing,
  };
}

async function handWritten(bench: Bench, { postgres, postgresUrl }: Deployments): Promise<Contestant> {
  const server = bench.cleanup.own(await startBaseline('hand-written', postgresUrl));
  return {
    name: HAND_WRITTEN,
    ports: [server.port],
    processes: { server: [server.pid], ...postgres.servers },
    requests: 'hand-written',
    // It has no Link that one could follow.
    without: ['import'],
    prepare: doNothing,
    finish: doNothing,
  };
}

/** Everyone who takes part, the bare server first, and the requests that they get. */
export async function startContestants(
  bench: Bench,
  deployments: Deployments,
  answers: CannedAnswers,
): Promise<Contestant[]> {
  const { sqlite, postgres, redis, data } = deployments;
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const polling = ({ accounts }: Deployment) =>
      kind === 'many' ? accounts : accounts.filter(({ number }) => number < data.fewPerCompany);
    for (const deployment of [sqlite, postgres, redis])
      await bench.generator.learn(requestSet(deployment.name, kind, polling(deployment)));
    await bench.generator.learn(requestSet('bare', kind, polling(sqlite)));
    await bench.generator.learn(handWrittenSet(kind, polling(postgres)));
  }
  const importInto = ({ home }: Deployment) => new SteadyImport(bench, home, deployments.data.companies);
  const imports = { sqlite: importInto(sqlite), postgres: importInto(postgres), redis: importInto(redis) };
  return [
    await bareContestant(bench, BARE, answers, sameAnswer),
    await bareContestant(bench, LEAST, answers, leastAnswer),
    await handWritten(bench, deployments),
    ...[1, 2].flatMap((count) =>
      (['sqlite', 'postgres', 'redis'] as const).map((name) =>
        ofDeployment(titleOf(name, count), deployments[name], count, imports[name]),
      ),
    ),
  ];
}

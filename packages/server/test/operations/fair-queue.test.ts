import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { FairQueue, QueueFullError } from '../../src/lib/fair.ts';

const [MAX_RUNNING, MAX_RUNNING_OF_USER, MAX_WAITING_OF_USER] = [8, 2, 8];

const nextTurns = async () => {
  for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

interface Work {
  readonly company: string;
  readonly user: string;
  readonly client: AbortController;
  readonly end: () => void;
  state: 'waiting' | 'running' | 'refused' | 'aborted' | 'ended' | 'failed';
}

/** A queue, and each piece of work that was given to it. */
class Run {
  readonly works: Work[] = [];
  readonly queue = new FairQueue({
    maxRunning: MAX_RUNNING,
    maxRunningOfUser: MAX_RUNNING_OF_USER,
    maxWaitingOfUser: MAX_WAITING_OF_USER,
  });

  arrive(company: string, user: string, fails = false): void {
    const end = deferred();
    const client = new AbortController();
    const work: Work = { company, user, client, end: end.resolve, state: 'waiting' };
    this.works.push(work);
    const run = this.queue.run(
      company,
      user,
      async () => {
        work.state = 'running';
        await end.promise;
        if (fails) throw new Error('it failed');
      },
      client.signal,
    );
    run.then(
      () => {
        work.state = 'ended';
      },
      (error: unknown) => {
        work.state =
          error instanceof QueueFullError ? 'refused' : client.signal.aborted ? 'aborted' : 'failed';
      },
    );
  }

  in(state: Work['state'], of: Partial<Pick<Work, 'company' | 'user'>> = {}): Work[] {
    const { company, user } = of;
    return this.works.filter(
      (work) =>
        work.state === state &&
        (company === undefined || work.company === company) &&
        (user === undefined || work.user === user),
    );
  }
}

const COMPANIES = ['a', 'b', 'c'];
const usersOf = (company: string) => [1, 2, 3, 4].map((number) => `${company}${number}`);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('arrive' as const), user: fc.nat(11), fails: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('abort' as const), which: fc.nat() }) },
);
const USERS = COMPANIES.flatMap(usersOf);

it('holds its bounds, refuses only a user who has too much, starts what it can, and gives all back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async (steps) => {
      const run = new Run();
      for (const one of steps) {
        if (one.kind === 'arrive') {
          const user = USERS[one.user] ?? '';
          const before = run.in('waiting', { user }).length;
          run.arrive(user.charAt(0), user, one.fails);
          await nextTurns();
          const isRefused = run.works.at(-1)?.state === 'refused';
          expect(isRefused).toBe(before === MAX_WAITING_OF_USER);
        } else {
          const open = [...run.in('running'), ...(one.kind === 'abort' ? run.in('waiting') : [])];
          const work = open[one.which % Math.max(1, open.length)];
          if (one.kind === 'abort' && work?.state === 'waiting') work.client.abort();
          else work?.end();
          await nextTurns();
        }
        const running = run.in('running').length;
        expect(running).toBeLessThanOrEqual(MAX_RUNNING);
        for (const user of USERS) {
          expect(run.in('running', { user }).length).toBeLessThanOrEqual(MAX_RUNNING_OF_USER);
          const [first] = run.in('waiting', { user });
          if (!first) continue;
          // It waits for its user, or for its company: that has as many places as are free.
          const ofCompany = run.in('running', { company: first.company }).length;
          const isFull = ofCompany >= MAX_RUNNING - running;
          expect(run.in('running', { user }).length === MAX_RUNNING_OF_USER || isFull).toBe(true);
        }
        expect(run.queue.size).toBe(running + run.in('waiting').length);
      }
      for (let open = run.in('running'); open.length > 0; open = run.in('running')) {
        for (const { end } of open) end();
        await nextTurns();
      }
      expect(run.in('waiting')).toEqual([]);
      expect(run.queue.size).toBe(0);
    }),
    { numRuns: 40 },
  );
});

it('a company with much work delays another one by no more than what runs', async () => {
  const run = new Run();
  for (const user of usersOf('a')) for (let count = 0; count < 10; count += 1) run.arrive('a', user);
  await nextTurns();
  expect(run.in('running')).toHaveLength(MAX_RUNNING / 2);
  run.arrive('b', 'b1');
  await nextTurns();
  expect(run.in('running', { company: 'b' })).toHaveLength(1);
});

it('a company that sends one piece of work after the other has every second turn beside one with many', async () => {
  const queue = new FairQueue({ maxRunning: 1 });
  const order: string[] = [];
  const work = (company: string) =>
    queue.run(company, company, async () => {
      order.push(company);
    });
  const many = Promise.all(Array.from({ length: 10 }, () => work('many')));
  for (let count = 0; count < 4; count += 1) await work('one');
  expect(order.slice(0, 8)).toEqual(Array(4).fill(['many', 'one']).flat());
  await many;
});

import { memoryCheckpoint, newLeads, poll } from '@leadtap/client';
import { describe, expect, it } from 'vitest';
import { startService } from '../../testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  startForeignProxy,
  UNDECODABLE_LINKS,
} from '../../testing/integrations/foreign-answers.ts';
import { answering, thrownBy } from './answering.ts';

const BEGIN = '2020-01-01T00:00:00.000Z';
const ANSWERS = [...FOREIGN_ANSWERS, ...UNDECODABLE_LINKS];
const SENTENCE =
  /^http:.+\/automation\/new-leads answered 200, but not with a list of leads of Leadtap: check the base address\.$/;

async function start() {
  const service = await startService();
  const proxy = await startForeignProxy(service.url);
  return { service, proxy, options: { baseUrl: proxy.url, token: await service.token('boss') } };
}

describe.each(ANSWERS)('200 with $name', (foreign) => {
  it('is an error of poll with a sentence', async () => {
    const { proxy, options } = await start();
    proxy.foreign = foreign;
    const error = await thrownBy(poll({ ...options, since: BEGIN }));
    expect(error).toMatchObject({ code: 'not-leads', status: 200, isTransient: true });
    expect(error.message).toMatch(SENTENCE);
  });
});

function answerNamed(name: string) {
  const answer = ANSWERS.find((known) => known.name === name);
  if (!answer) throw new Error(`no answer has the name ${name}`);
  return answer;
}

/** All that the loop sees of an answer is the error of `poll`, so one of each kind is enough. */
const ONE_OF_EACH_KIND = ['a maintenance page', 'an array without Link', 'an array of other things'];

describe.each(ONE_OF_EACH_KIND.map(answerNamed))('200 with $name', (foreign) => {
  it('ends the loop when the address has never worked, and nothing is saved', async () => {
    const { proxy, options } = await start();
    proxy.foreign = foreign;
    const checkpoint = memoryCheckpoint();
    expect(await thrownBy(newLeads({ ...options, checkpoint }).next())).toMatchObject({ code: 'not-leads' });
    expect(checkpoint.load()).toBeUndefined();
  });

  it.each([
    { when: 'in a run that has received leads', passesBefore: 1, isRestarted: false, taken: ['old', 'new'] },
    { when: 'in a run that continues from a checkpoint', passesBefore: 0, isRestarted: true, taken: ['new'] },
  ])('is retried $when, and the position stays', async ({ passesBefore, isRestarted, taken }) => {
    const { service, proxy, options } = await start();
    await service.add({ id: 'old' });
    const { leads, nextSince: since = '' } = await poll({ ...options, since: BEGIN });
    const triggerIds = leads.map(({ automation_trigger_id }) => automation_trigger_id);
    const checkpoint = memoryCheckpoint(isRestarted ? { since, triggerIds } : undefined);
    Object.assign(proxy, { foreign, passesBefore });
    const retries: object[] = [];
    let now = Date.now();
    const loop = newLeads({
      ...options,
      since: BEGIN,
      checkpoint,
      intervalMs: 0,
      onRetry: ({ code }) => retries.push({ code, checkpoint: checkpoint.load() }),
      environment: {
        now: () => now,
        sleep: async (ms) => {
          now += ms;
          if (retries.length < 3) return;
          proxy.foreign = undefined;
          await service.add({ id: 'new' });
        },
      },
    });
    const ids: string[] = [];
    for await (const { id } of loop) {
      ids.push(id);
      if (id === 'new') break;
    }
    expect(ids).toEqual(taken);
    const retried = { code: 'not-leads', checkpoint: { since, triggerIds } };
    expect(retries).toEqual([retried, retried, retried]);
  });
});

it('a redirect to a login page names the address that answered', async () => {
  const loginUrl = await answering({
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<h1>Login',
  });
  const location = `${loginUrl}/login?to=leads`;
  const baseUrl = await answering({ status: 302, headers: { location }, body: '' });
  const error = await thrownBy(poll({ baseUrl, token: 'any' }));
  expect(error.message).toMatch(`${loginUrl}/login answered 200`);
});

it('a 304 to a request without an etag is not taken for an empty page', async () => {
  const baseUrl = await answering({ status: 304, headers: {}, body: '' });
  expect(await thrownBy(poll({ baseUrl, token: 'any' }))).toMatchObject({ code: 'http-304' });
});

import { join } from 'node:path';
import { HEADERS, type Lead } from '@leadtap/contract';
import { beforeAll, expect, it } from 'vitest';
import { compilePrograms, runProgram } from './example-programs.ts';

let folder = '';

beforeAll(async () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  folder = await compilePrograms((cleanUp) => cleanUps.push(cleanUp));
  return async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  };
});

it.each(['fastify', 'express', 'node'])(
  'examples/embedding/%s.ts serves the endpoint next to routes of its own',
  async (program) => {
    const { url, line } = await runProgram(join(folder, `${program}.js`));
    const headers = { authorization: 'Bearer key-of-ada' };
    const poll = (query = '') => fetch(`${url}/api/automation/new-leads${query}`, { headers });
    for (const path of ['a/north', 'b/south', 'c/north'])
      expect(await (await fetch(`${url}/leads/${path}`, { method: 'POST' })).json()).toHaveProperty('added');

    const newest = (await (await poll()).json()) as Lead[];
    expect(newest.map(({ id }) => id)).toEqual(['c', 'a']);
    expect(await line()).toBe('poll: 200, 2 leads');

    const [, oldest] = newest;
    const page = await poll(`?since=${oldest?.createdAt}`);
    expect(await page.json()).toMatchObject([{ id: 'c', branchName: 'North' }]);
    expect(page.headers.get('link')).toMatch(`<${url}/api/automation/new-leads?since=`);
    expect(page.headers.get('ratelimit-policy')).toBe(HEADERS['ratelimit-policy'].example);
    expect(await line()).toBe('poll: 200, 1 leads');

    const address = `${url}/api/automation/new-leads`;
    const refused = await fetch(address, { headers: { authorization: 'Bearer x' } });
    expect(await refused.json()).toMatchObject({ status: 401, code: 'token-invalid' });
    expect(await line()).toBe('poll: 401, 0 leads');
    const posted = await fetch(address, { method: 'POST', body: '{', headers });
    expect(await posted.json()).toMatchObject({ status: 405, code: 'method-not-allowed' });
    expect(await line()).toBe('poll: 405, 0 leads');
    expect((await fetch(address, { method: 'HEAD', headers })).status).toBe(200);
    expect(await line()).toBe('poll: 200, 0 leads');

    for (const path of ['/nowhere', '/api', '/api/nowhere', '/automation/new-leads']) {
      const response = await fetch(`${url}${path}`);
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({ crm: 'no such page' });
    }
  },
);

it("an error in a route of the application stays the application's", async () => {
  const { url } = await runProgram(join(folder, 'fastify.js'));
  expect(await (await fetch(`${url}/broken`)).json()).toEqual({ crm: 'something broke' });
});

it.each(['fastify', 'express', 'node'])(
  'examples/embedding/%s.ts accepts leads and delivers them to polls',
  async (program) => {
    const { url, line } = await runProgram(join(folder, `${program}.js`));
    const send = (body: unknown, token = 'key-of-the-form') =>
      fetch(`${url}/api/leads`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const poll = (token: string) =>
      fetch(`${url}/api/automation/new-leads`, { headers: { authorization: `Bearer ${token}` } });

    const answer = await send([{ id: 'a', fullName: 'Ada' }, { firstName: 'Grace' }]);
    expect([answer.status, await answer.json()]).toMatchObject([
      201,
      {
        leads: [
          { id: 'a', result: 'added' },
          { id: expect.any(String), result: 'added' },
        ],
      },
    ]);
    expect(answer.headers.get('ratelimit-policy')).toBe('"intake";q=600;w=60, "intake-leads";q=30000;w=60');
    expect(await line()).toBe('intake: 201, 2 added, 0 updated');
    expect((await send({ id: 'a', fullName: 'Ada', lastName: 'Lovelace' })).status).toBe(200);
    expect(await line()).toBe('intake: 200, 0 added, 1 updated');

    const newest = (await (await poll('key-of-ada')).json()) as Lead[];
    expect(await line()).toBe('poll: 200, 2 leads');
    expect(newest).toMatchObject([
      { firstName: 'Grace' },
      { id: 'a', fullName: 'Ada', lastName: 'Lovelace', branchName: 'North' },
    ]);

    expect(
      await (
        await send([
          { id: 'b', firstName: 'Rosa' },
          { firstName: 'Mary', branchId: 'south' },
        ])
      ).json(),
    ).toMatchObject({
      code: 'invalid-lead',
      errors: [{ index: 1, field: 'branchId' }],
    });
    expect(await line()).toBe('intake: 422, 0 added, 0 updated');
    expect(await (await send({}, 'key-of-ada')).json()).toMatchObject({ code: 'insufficient-scope' });
    expect(await line()).toBe('intake: 403, 0 added, 0 updated');
    expect(await (await poll('key-of-the-form')).json()).toMatchObject({ code: 'insufficient-scope' });
    expect(await line()).toBe('poll: 403, 0 leads');
    const get = await fetch(`${url}/api/leads`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await line()).toBe('intake: 405, 0 added, 0 updated');
    const large = await send({ address: 'x'.repeat(1024 * 1024) });
    expect(await large.json()).toMatchObject({ status: 413, code: 'payload-too-large' });
  },
);

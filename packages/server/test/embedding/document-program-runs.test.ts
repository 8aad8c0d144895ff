import type { Lead } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { compileProgram, runProgram } from './document.ts';

it('the program of docs/embedding.md compiles, and serves next to routes of its own', async () => {
  const { url, line } = await runProgram(await compileProgram());
  const headers = { authorization: 'Bearer key-of-ada' };
  const poll = (query = '') => fetch(`${url}/api/automation/new-leads${query}`, { headers });
  for (const path of ['a/north', 'b/south', 'c/north'])
    expect(await (await fetch(`${url}/leads/${path}`, { method: 'POST' })).json()).toHaveProperty('added');

  const newest = (await (await poll()).json()) as Lead[];
  expect(newest.map(({ id }) => id)).toEqual(['c', 'a']);
  expect(await line()).toBe('poll: 200, 2 leads');

  const [, oldest] = newest;
  const page = await poll(`?since=${oldest?.createdAt}`);
  expect(await page.json()).toMatchObject([{ id: 'c', branchName: 'north' }]);
  expect(page.headers.get('link')).toMatch(`<${url}/api/automation/new-leads?since=`);
  expect(page.headers.get('ratelimit-policy')).toBe('"minute";q=100;w=60, "hour";q=1000;w=3600');
  expect(await line()).toBe('poll: 200, 1 leads');

  const refused = await fetch(`${url}/api/automation/new-leads`, { headers: { authorization: 'Bearer x' } });
  expect(await refused.json()).toMatchObject({ status: 401, code: 'token-invalid' });
  expect(await line()).toBe('poll: 401, 0 leads');

  for (const path of ['/nowhere', '/api', '/api/nowhere', '/automation/new-leads']) {
    const response = await fetch(`${url}${path}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ crm: 'no such page' });
  }
  expect(await (await fetch(`${url}/broken`)).json()).toEqual({ crm: 'something broke' });
});

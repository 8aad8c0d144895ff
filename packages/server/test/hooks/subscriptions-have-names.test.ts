import { Hook as WireHook } from '@leadtap/contract/schemas';
import { Errors } from 'typebox/value';
import { describe, expect, it, vi } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { hooksRequest, postHook, readHook, subscribe, ZAPIER_URL } from './support/hooks.ts';

const rename = (
  service: TestService,
  token: string | undefined,
  id: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  hooksRequest(service, token, {
    path: `/${id}`,
    method: 'PATCH',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const INVALID_NAMES: readonly (readonly [string, unknown])[] = [
  ['empty', ''],
  ['spaces', '   '],
  ['too long', 'x'.repeat(101)],
  ['a line break', 'Slack\nsales'],
  ['an escape', 'Slack \u001b[31m'],
  ['a line separator', 'Slack\u2028sales'],
  ['a broken character', 'Slack \ud800'],
  ['a number', 7],
  ['an object', {}],
];

describe('a subscription', () => {
  it('has the name that it was given, without spaces around it', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const response = await postHook(service, token, { url: ZAPIER_URL, name: `  ${'é'.repeat(100)} ` });
    expect(response.status).toBe(201);
    const { id, name } = (await response.json()) as WireHook;
    expect(name).toBe('é'.repeat(100));
    expect(await readHook(service, token, id)).toMatchObject({ name });
  });

  it('is renamed by subscribing again, and keeps its name without one', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const nameAfter = async (body: object) => {
      const response = await postHook(service, token, { url: ZAPIER_URL, ...body });
      return [response.status, ((await response.json()) as WireHook).name];
    };
    expect([
      await nameAfter({ name: 'Sales' }),
      await nameAfter({}),
      await nameAfter({ name: null }),
      await nameAfter({ name: 'Service' }),
    ]).toEqual([
      [201, 'Sales'],
      [200, 'Sales'],
      [200, 'Sales'],
      [200, 'Service'],
    ]);
  });

  it.each(INVALID_NAMES)('is 422 with a name that is not valid: %s', async (_name, name) => {
    const service = await startService();
    const response = await postHook(service, await service.token('boss'), { url: ZAPIER_URL, name });
    expect(await expectProblem(response, 'invalid-hook')).toMatchObject({
      detail: expect.stringContaining('`name`'),
    });
    expect(await service.store.hooks.hasHooks()).toBe(false);
  });
});

describe('PATCH', () => {
  it('changes the name and nothing else', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const { id } = await subscribe(service, token, ZAPIER_URL);
    const before = await readHook(service, token, id);
    const response = await rename(service, token, id, {
      name: ' Sales ',
      url: 'https://x.test',
      send: 'lead',
    });
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const renamed = await response.json();
    expect([...Errors(WireHook, renamed)]).toEqual([]);
    expect(renamed).toEqual({ ...before, name: 'Sales' });
    expect(await readHook(service, token, id)).toEqual(renamed);
  });

  it.each([...INVALID_NAMES, ['null', null], ['absent', undefined]] as const)(
    'is 422 with a name that is not valid: %s',
    async (_name, name) => {
      const service = await startService();
      const token = await service.token('boss');
      const { id } = await subscribe(service, token, ZAPIER_URL);
      await expectProblem(await rename(service, token, id, { name }), 'invalid-hook');
      expect(await readHook(service, token, id)).toMatchObject({ name: null });
    },
  );

  it('has the checks of a subscription, also with the header of Power Automate', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const { id } = await subscribe(service, token, ZAPIER_URL);
    const body = { name: 'Sales' };
    const large = `{"name":"a","b":"${'x'.repeat(16 * 1024)}"}`;
    const header = { 'x-ms-notification-url': ZAPIER_URL };
    await expectProblem(await rename(service, undefined, id, body), 'token-missing');
    await expectProblem(await rename(service, token, id, large), 'payload-too-large');
    await expectProblem(await rename(service, token, id, '{"name":', header), 'malformed-request');
    await expectProblem(await rename(service, token, id, '[]'), 'invalid-hook');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    await expectProblem(await rename(service, token, id, 'name=a', form), 'unsupported-media-type');
    const sender = await service.token('boss', { scopes: ['leads:write'] });
    await expectProblem(await rename(service, sender, id, body), 'insufficient-scope');
    expect(await readHook(service, token, id)).toMatchObject({ name: null });
  });

  it('is 404 for another token of the user, another user, and an id that does not exist', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const { id } = await subscribe(service, token, ZAPIER_URL);
    for (const user of ['boss', 'north-lead', 'rival'])
      await expectProblem(
        await rename(service, await service.token(user), id, { name: 'Sales' }),
        'no-such-resource',
      );
    for (const other of ['0'.repeat(32), 'x', ''])
      await expectProblem(await rename(service, token, other, { name: 'Sales' }), 'no-such-resource');
    expect(await readHook(service, token, id)).toMatchObject({ name: null });
  });

  it('is 404 if the subscription is deleted meanwhile', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const { id } = await subscribe(service, token, ZAPIER_URL);
    const { hooks } = service.store;
    const { find } = hooks;
    vi.spyOn(hooks, 'find').mockImplementationOnce(async (...args) => {
      const found = await find.apply(hooks, args);
      await hooks.remove(id);
      return found;
    });
    await expectProblem(await rename(service, token, id, { name: 'Sales' }), 'no-such-resource');
  });
});

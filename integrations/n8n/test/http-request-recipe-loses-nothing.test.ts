import type { IDataObject } from 'n8n-workflow';
import { describe, expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import { handledBy, recipe, runRecipe, type UserNodes } from './http-request-recipe.ts';

const bunch = (count: number) => Array.from({ length: count }, () => ({}));
const times = (leads: readonly IDataObject[]) => leads.map(({ createdAt }) => Date.parse(String(createdAt)));

async function begin() {
  const service = await startService();
  const [old = 0] = await service.add({});
  const connection = {
    baseUrl: service.url,
    startFrom: new Date(old).toISOString(),
    token: await service.token('boss'),
  };
  const memory: IDataObject = {};
  const handled: number[] = [];
  const run = () =>
    runRecipe(
      connection,
      memory,
      handledBy((leads) => void handled.push(...times(leads))),
    );
  return { service, connection, memory, handled, run };
}

describe('the workflow with the HTTP Request node', () => {
  it('gets every lead once, over full pages, empty runs and more than a run takes', async () => {
    const { service, handled, run } = await begin();
    await run();
    expect(handled).toEqual([]);
    const arrived = await service.add(...bunch(230));
    await run();
    await run();
    expect(handled).toEqual(arrived);
    arrived.push(...(await service.add(...bunch(1100))));
    await run();
    expect(handled).toHaveLength(230 + 1000);
    await run();
    expect(handled).toEqual(arrived);
  });

  const fail = () => {
    throw new Error('a node of yours failed');
  };
  const DONE = 'When all nodes are done';
  const to = (node: string, index = 0) => [{ node, index }];
  const YOUR_NODES: readonly (readonly [name: string, (height: number) => UserNodes])[] = [
    ['one node', (height) => handledBy(fail, height)],
    [
      'the second branch, after both were joined',
      (height) => ({
        height,
        nodes: { 'Your nodes here': ([one, ...more]) => [one ? [one] : [], more], other: fail },
        connections: {
          'Your nodes here': { main: [to(DONE, 2), to('other')] },
          other: { main: [to(DONE, 2)] },
        },
      }),
    ],
    [
      'a node that is connected to no other',
      (height) => ({
        height,
        nodes: { 'Your nodes here': (leads) => [leads], other: fail },
        connections: { 'Your nodes here': { main: [to('other')] } },
      }),
    ],
  ];

  describe.each(YOUR_NODES)('remembers nothing if this fails: %s', (_name, yourNodes) => {
    it.each([-500, 0, 500])('at the height %i on the canvas', async (height) => {
      const { service, connection, memory, handled, run } = await begin();
      const arrived = await service.add(...bunch(2));
      await expect(runRecipe(connection, memory, yourNodes(height))).rejects.toThrow(
        'a node of yours failed',
      );
      expect(memory).toEqual({});
      await run();
      expect(handled).toEqual(arrived);
    });
  });

  it('has your nodes and the one that remembers in one line', () => {
    const targetsOf = (name: string) => recipe.connections[name]?.main.flat().map(({ node }) => node);
    expect(targetsOf('Only leads of Leadtap')).toEqual(['Your nodes here', DONE]);
    expect(targetsOf('Your nodes here')).toEqual([DONE]);
    expect(targetsOf(DONE)).toEqual(['Remember the last lead']);
  });

  it('remembers leads that your nodes drop or change', async () => {
    const { service, connection, memory } = await begin();
    const arrived = await service.add(...bunch(3));
    const seen: number[] = [];
    const drop: UserNodes = {
      nodes: {
        'Your nodes here': (leads) => {
          seen.push(...times(leads));
          return [[]];
        },
      },
    };
    for (let runs = 0; runs < 3; runs += 1) await runRecipe(connection, memory, drop);
    expect(seen).toEqual(arrived);
  });

  it('remembers nothing when the request fails', async () => {
    const { connection, memory } = await begin();
    const refused = runRecipe({ ...connection, token: 'made-up' }, memory, handledBy(fail));
    await expect(refused).rejects.toThrow('401');
    expect(memory).toEqual({});
  });

  it('remembers nothing when the last request of a run is refused, which n8n hands on like a page', async () => {
    const { service, connection, memory, handled, run } = await begin();
    const arrived = await service.add(...bunch(1100));
    for (let request = 0; request < 91; request += 1) await service.poll('boss', 'limit=1');
    await expect(run()).rejects.toThrow(`${connection.baseUrl} answered 429, but not with a list of leads`);
    expect(memory).toEqual({});
    expect(handled).toEqual([]);
    expect(arrived).toHaveLength(1100);
  });
});

it('the file has what `n8n import:workflow` stores and cannot make up', () => {
  // n8n takes them as they are into columns that must not be null. The version it makes up by itself.
  expect(recipe.id).toMatch(/^[A-Za-z0-9]{16}$/);
  expect(recipe.active).toBe(false);
  expect(recipe.name).not.toBe('');
  expect(new Set(recipe.nodes.map(({ id }) => id)).size).toBe(recipe.nodes.length);
});

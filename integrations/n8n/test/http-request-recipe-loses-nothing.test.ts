import type { IDataObject } from 'n8n-workflow';
import { describe, expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import { nodesAfter, recipe, runRecipe } from './http-request-recipe.ts';

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
  const run = () => runRecipe(connection, memory, (leads) => handled.push(...times(leads)));
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

  it('remembers after your nodes have done their work, so that leads come again when they fail', async () => {
    expect(nodesAfter('New leads')).toEqual(['Only leads of Leadtap']);
    expect(nodesAfter('Only leads of Leadtap')).toEqual(['Your nodes here', 'Remember the last lead']);
    const { service, connection, memory, handled, run } = await begin();
    const arrived = await service.add(...bunch(2));
    const failing = runRecipe(connection, memory, () => {
      throw new Error('a node of yours failed');
    });
    await expect(failing).rejects.toThrow('a node of yours failed');
    await run();
    expect(handled).toEqual(arrived);
  });

  it('remembers nothing when the request fails', async () => {
    const { connection, memory } = await begin();
    await expect(runRecipe({ ...connection, token: 'made-up' }, memory, () => undefined)).rejects.toThrow(
      '401',
    );
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

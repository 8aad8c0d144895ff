import type { Lead } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { makeNextVersion } from './next-version.ts';
import { type Instance, programOf } from './programs.ts';
import { restoreRelease, unpackProgram, withFieldsOf } from './release.ts';

it('two versions on one database answer the same, and follow the changes of each other', async () => {
  const database = await restoreRelease();
  const { tokens } = database.expected;
  const old = programOf(database, unpackProgram());
  const current = programOf(database, makeNextVersion().bin);
  const first = await old.serve();
  // It migrates the database that the other one serves.
  const second = await current.serve();
  const both = [first, second];

  const request = ({ url }: Instance, name: string, path: string, options: RequestInit = {}) =>
    fetch(`${url}${path}`, {
      ...options,
      headers: { ...options.headers, authorization: `Bearer ${tokens[name]?.token}` },
    });
  const poll = async (instance: Instance, since: string, headers: Record<string, string> = {}) => {
    const response = await request(instance, 'ada', `/automation/new-leads?since=${since}`, { headers });
    expect(response.status).toBe(200);
    return response.text();
  };
  const send = async (instance: Instance, id: string): Promise<string> => {
    const response = await request(instance, 'sender', '/leads', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, fullName: id }),
    });
    expect(response.status).toBe(201);
    return ((await response.json()) as { leads: [Lead] }).leads[0].createdAt;
  };

  // By turns, so that each stamps after a lead that the other one has stamped.
  const stamps: string[] = [];
  for (let sent = 0; sent < 6; sent += 1) {
    for (const instance of both) stamps.push(await send(instance, `turn-${stamps.length}`));
    const [before = '', after = ''] = await Promise.all(
      both.map((instance) => poll(instance, stamps[0] ?? '')),
    );
    expect(withFieldsOf(before, after)).toBe(before);
    expect(JSON.parse(before)).toHaveLength(stamps.length - 1);
  }
  expect(stamps).toEqual([...new Set(stamps)].sort());

  for (const [holding, sending] of [both, both.toReversed()] as [Instance, Instance][]) {
    const since = stamps.at(-1) ?? '';
    const held = poll(holding, since, { prefer: 'wait=50' });
    stamps.push(await send(sending, `held-${stamps.length}`));
    expect(JSON.parse(await held)).toMatchObject([{ createdAt: stamps.at(-1) }]);
  }

  const statuses = () =>
    Promise.all(
      both.map(async (instance) => (await request(instance, 'ben', '/automation/new-leads')).status),
    );
  for (let asked = 0; asked < 3; asked += 1) expect(await statuses()).toEqual([200, 200]);
  const revoked = await current.run('token', 'revoke', tokens['ben']?.tokenId ?? '');
  expect(revoked).toMatchObject({ code: 0 });
  expect(await statuses()).toEqual([401, 401]);
});

import type { Connections, Lead } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { keyFileOf, startService } from '../../../testing/harness/service.ts';
import { terminal } from '../cli/terminal.ts';

const MINUTE_MS = 60_000;

/** A poller of `boss` that worked, passed three leads, and has two that wait. */
async function world() {
  const clock = manualClock();
  const service = await startService({ clock });
  const { connections } = service.service;
  const { run: runAnywhere } = terminal();
  const env = { ...service.database.env, LEADTAP_SIGNING_KEY_FILE: keyFileOf(service) };
  const run = async (command: string) => {
    await connections.flush();
    return runAnywhere(command, { env, parts: { clock } });
  };
  const issued = await run('token issue --user boss --name CRM');
  const crm = issued.stdout.trim();
  const ask = async (path: string, token = crm) => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(path.startsWith('http') ? path : `${service.url}${path}`, { headers });
    return { status: response.status, link: response.headers.get('link'), text: await response.text() };
  };
  const since = (stamp: number) => `/automation/new-leads?since=${new Date(stamp).toISOString()}`;
  let link = since(clock());
  for (let number = 0; number < 4; number += 1) {
    clock.advance(MINUTE_MS);
    await service.add({ id: `had-${number}` });
    link = /<(.*)>/.exec((await ask(link)).link ?? '')?.[1] ?? link;
  }
  const passed = await service.add({ id: 'p1', branchId: 'north' }, { id: 'p2' }, { id: 'p3' });
  await ask(since(passed[2] ?? 0));
  for (let minute = 0; minute < 3; minute += 1) {
    clock.advance(MINUTE_MS);
    await connections.audit();
  }
  await service.add({ id: 'w1' }, { id: 'w2' });
  const { out }: Connections = JSON.parse((await ask('/automation/connections')).text);
  const owed = async (query: string, token?: string) => ask(`/automation/leads?${query}`, token);
  return { clock, service, connections, run, ask, owed, out, id: out[0]?.id ?? '' };
}

const idsOf = ({ text }: { readonly text: string }): string[] => JSON.parse(text).map(({ id }: Lead) => id);

it('what a connection missed and what waits for it is listed, newest first, page by page', async () => {
  const { owed, id, out } = await world();
  expect(out).toMatchObject([{ name: 'CRM', missed: 3, waiting: 2 }]);
  const whole = await owed(`owed=${id}`);
  expect(idsOf(whole)).toEqual(['w2', 'w1', 'p3', 'p2', 'p1']);
  expect(whole.link).toBeNull();
  const first = await owed(`owed=${id}&limit=2`);
  expect(idsOf(first)).toEqual(['w2', 'w1']);
  const [, next = ''] = /\?(.*)>/.exec(first.link ?? '') ?? [];
  expect(idsOf(await owed(next))).toEqual(['p3', 'p2']);
});

it('nothing is owed once it is marked as handled', async () => {
  const { owed, id, run } = await world();
  await run('connections handled CRM');
  expect(idsOf(await owed(`owed=${id}`))).toEqual(['w2', 'w1']);
});

it('other users see none of it, and unknown connections and a text beside it are refused', async () => {
  const { owed, id, service } = await world();
  const lead = await service.token('north-lead');
  expect(await owed(`owed=${id}`, lead)).toMatchObject({ status: 404 });
  expect(await owed(`owed=${id}`, await service.token('rival'))).toMatchObject({ status: 404 });
  expect(await owed('owed=unassigned', lead)).toMatchObject({ status: 404 });
  expect(await owed('owed=unknown')).toMatchObject({ status: 404 });
  expect(await owed(`owed=${id}&q=ada`)).toMatchObject({ status: 400 });
});

it('leads that no automation gets are listed for those who see the company', async () => {
  const { owed, run, clock, connections, service } = await world();
  await run('token revoke --user boss --handled');
  await service.add({ id: 'nowhere' });
  for (let minute = 0; minute < 20; minute += 1) {
    clock.advance(MINUTE_MS);
    await connections.audit();
  }
  expect(idsOf(await owed('owed=unassigned', await service.token('boss')))).toContain('nowhere');
});

it('they are exported and sent to a webhook by commands', async () => {
  const { run } = await world();
  const { stdout } = await run('leads export --owed CRM');
  const ids = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).id);
  expect(ids).toEqual(['w2', 'w1', 'p3', 'p2', 'p1']);
  await run('hooks add --user boss --url https://hooks.zapier.com/hooks/catch/1/abc --name Mail');
  expect((await run('connections send Mail --owed-by CRM')).stdout).toBe('5 leads wait for Mail now.\n');
  expect(await run('connections send CRM --owed-by CRM')).toMatchObject({ code: 1 });
  expect(await run('connections send Mail --owed-by CRM --missed')).toMatchObject({ code: 2 });
});

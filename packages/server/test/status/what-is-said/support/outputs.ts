/** Reads all outputs. Fails where two of them disagree. */
import type { Connections, InConnection, OutConnection, StatusJson } from '@leadtap/contract';
import { expect, vi } from 'vitest';
import { readStatus } from '../../support/status.ts';
import type { World } from './world.ts';

type Connection = InConnection | OutConnection;

interface Said {
  /** By the name of the connection. */
  readonly rows: Readonly<Record<string, string>>;
  readonly messages: Readonly<Record<string, string>>;
  readonly sentence: string;
  readonly problems: readonly string[];
}

const FIGURES = ['added', 'updated', 'held', 'lost', 'sent', 'waiting', 'missed'] as const;

/** `error silent 2 sent 3 waiting → handled` */
function shortOf(row: Connection): string {
  const figures = FIGURES.flatMap((name) => {
    const count: unknown = Reflect.get(row, name);
    return typeof count === 'number' && count > 0 ? [`${count} ${name}`] : [];
  });
  const action = row.action === null ? [] : [`→ ${row.action}`];
  return [row.level, row.state, ...figures, ...action].join(' ');
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
const isDoor = ({ id }: Connection): boolean => id === 'door';
const isUnassigned = ({ id }: Connection): boolean => id === 'unassigned';

/** A request is recorded after its answer, and an attempt of a webhook in the time of the machine: read again until it is. */
export async function expectSaid(world: World, check: (said: Said) => void): Promise<void> {
  const read = async () => {
    const { said, ...outputs } = await readOutputs(world);
    check(said);
    return outputs;
  };
  const { connections, status } = await vi.waitFor(read, { timeout: 5000, interval: 100 });
  await compareAlerts(world, connections, status);
}

/** What all outputs say, but for alerts, which come once. */
async function readOutputs(world: World) {
  const { service } = world;
  await service.service.refusedLeads.flush();
  await service.service.connections.flush();
  const authorization = `Bearer ${await service.token('boss', { tokenId: 'reader' })}`;
  const answer = await fetch(`${service.url}/automation/connections`, { headers: { authorization } });
  const said = (await answer.json()) as Connections;
  const status = await readStatus(service);
  const { level, ...ofStatus } = status;
  expect(said, 'status.json').toMatchObject({
    ...{ in: ofStatus.in, out: ofStatus.out, message: ofStatus.message, since: ofStatus.since },
  });
  const worst = ['error', 'warning'].find((one) =>
    [said.level, ...status.problems.map((problem) => problem.level)].some((known) => known === one),
  );
  expect(level, 'the level of status.json').toBe(worst ?? said.level);
  await compareCommand(world, said);
  await compareMetrics(world, said, status);
  const rows = [...said.in, ...said.out];
  const nameOf = (row: Connection) => (isDoor(row) || isUnassigned(row) ? row.id : row.name);
  const all: Said = {
    rows: Object.fromEntries(rows.map((row) => [nameOf(row), shortOf(row)])),
    messages: Object.fromEntries(rows.map((row) => [nameOf(row), row.message])),
    sentence: said.message,
    problems: status.problems.map(({ kind }) => kind).sort(),
  };
  return { said: all, connections: said, status };
}

async function compareCommand(world: World, { in: ins, out }: Connections): Promise<void> {
  const listed = JSON.parse(await world.command('connections --json')) as (Connection & {
    direction: 'in' | 'out';
  })[];
  const rows = [
    ...ins.map((row) => ({ ...row, direction: 'in' })),
    ...out.map((row) => ({ ...row, direction: 'out' })),
  ];
  const byId = (a: Connection, b: Connection) => (a.id < b.id ? -1 : 1);
  expect([...listed].sort(byId), 'leadtap connections --json').toEqual(rows.sort(byId));
}

async function compareMetrics(
  { service }: World,
  { in: ins, out }: Connections,
  { problems }: StatusJson,
): Promise<void> {
  const metrics = await (await fetch(service.metricsUrl)).text();
  const gauge = (name: string): number =>
    Number(
      metrics
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    );
  for (const [direction, rows] of [
    ['in', ins],
    ['out', out],
  ] as const)
    for (const level of ['error', 'warning', 'unknown', 'good'] as const)
      expect(
        gauge(`leadtap_connections{direction="${direction}",level="${level}"}`),
        `metric ${direction} ${level}`,
      ).toBe(rows.filter((row) => row.level === level).length);
  const automations = out.filter((row) => !isUnassigned(row));
  const forms = ins.filter((row) => !isDoor(row));
  const figures = {
    leads_waiting: sum(automations.map(({ waiting }) => waiting)),
    leads_missed: sum(automations.map(({ missed }) => missed)),
    leads_unassigned: sum(out.filter(isUnassigned).map(({ waiting }) => waiting)),
    requests_held: sum(forms.map(({ held }) => held)),
    requests_lost: sum(forms.map(({ lost }) => lost)),
  };
  for (const [name, count] of Object.entries(figures))
    expect(gauge(`leadtap_${name}`), `metric ${name}`).toBe(count);
  const found = [...metrics.matchAll(/^leadtap_problem\{name="([a-z-]+)",level="[a-z]+"\} 1$/gm)];
  expect(found.map(([, name]) => name).sort(), 'metric problem').toEqual(
    problems.map(({ kind }) => kind).sort(),
  );
}

/** The first check of this service: all that is red or amber begins. */
async function compareAlerts(world: World, said: Connections, { problems }: StatusJson) {
  const before = world.alerts.length;
  await world.service.service.alerts?.check();
  const text = world.alerts.slice(before).join('\n');
  const begun = [...text.matchAll(/(?:^|: )(error|warning): ([^:\n]+):/gm)].map(
    ([, level, name]) => `${level} ${name}`,
  );
  const bad = [...said.in, ...said.out].filter(({ level }) => level === 'error' || level === 'warning');
  const ofInstallation = problems.filter(({ kind }) => kind !== 'alerts-failing');
  if (ofInstallation.length === 0)
    expect(begun.sort(), `alerts: ${text}`).toEqual(bad.map(({ level, name }) => `${level} ${name}`).sort());
  for (const { message } of bad) expect(text, 'alerts').toContain(message);
}

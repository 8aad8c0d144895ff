import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RULES as DIAGNOSIS } from '../../packages/server/src/status/rules.ts';
import { makeTestRedis } from '../../packages/testing/harness/redis.ts';
import { startService } from '../../packages/testing/harness/service.ts';
import { tempFolder } from '../../packages/testing/harness/temp-folder.ts';
import { findProgram } from '../../packages/testing/servers/find-program.ts';
import { PROMTOOL } from '../../packages/testing/servers/promtool.ts';
import { ROOT } from './support/dockerfile.ts';
import { readText } from './support/manifests.ts';

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string; readonly refId: string }[];
}

const {
  panels,
  templating,
}: { panels: readonly Panel[]; templating: { list: readonly { name: string }[] } } = JSON.parse(
  readText('deploy/grafana/leadtap.json'),
);
const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
const RULES = 'deploy/prometheus/alerts.yaml';

function promtool(...argv: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(findProgram(PROMTOOL), argv, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`promtool ${argv.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

/** Files for promtool may be JSON, which is YAML. */
function write(name: string, content: unknown): string {
  const file = join(tempFolder(), name);
  writeFileSync(file, JSON.stringify(content));
  return file;
}

test('the alert rules are valid', () => {
  const count = readText(RULES).match(/^ *- alert: /gm)?.length;
  expect(count).toBeGreaterThan(8);
  expect(promtool('check', 'rules', join(ROOT, RULES))).toContain(`SUCCESS: ${count} rules found`);
});

test('the queries of the dashboard are valid', () => {
  const rules = queries.map((expr, index) => ({
    record: `query:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'leadtap'),
  }));
  const file = write('queries.yaml', { groups: [{ name: 'dashboard', rules }] });
  expect(promtool('check', 'rules', file)).toContain(`SUCCESS: ${queries.length} rules found`);
});

test('promtool finds nothing to correct in /metrics', async () => {
  const redis = await makeTestRedis();
  const service = await startService({ env: redis.env });
  await service.poll('boss');
  const metrics = await (await fetch(service.metricsUrl)).text();
  const checked = spawnSync(findProgram(PROMTOOL), ['check', 'metrics'], {
    input: metrics,
    encoding: 'utf8',
  });
  expect({ status: checked.status, output: checked.stdout + checked.stderr }).toEqual({
    status: 0,
    output: '',
  });
});

test('every metric of the alerts and the dashboard is in /metrics', async () => {
  const redis = await makeTestRedis();
  const { metricsUrl } = await startService({ env: redis.env });
  const text = await (await fetch(metricsUrl)).text();
  const served = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name);
  const expressions = [...(readText(RULES).match(/^ *expr: .*$/gm) ?? []), ...queries];
  const named = expressions.flatMap((line) => line.match(/\b(?:leadtap|nodejs|process)_\w+/g) ?? []);
  expect(named.length).toBeGreaterThan(20);
  const missing = named.filter((name) => !served.includes(name.replace(/_bucket$/, '')));
  expect(missing).toEqual([]);
  const ours = served.filter((name) => name?.startsWith('leadtap_'));
  const documented = readText('docs/operations.md');
  expect(ours.filter((name) => !documented.includes(`\`${name}`))).toEqual([]);
});

test('the panels of the dashboard have different ids and places, and use its variables', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
    expect(x + w).toBeLessThanOrEqual(24);
    return Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`);
  });
  expect(new Set(cells).size).toBe(cells.length);
  const variables = ['__rate_interval', ...templating.list.map(({ name }) => name)];
  const used = [...readText('deploy/grafana/leadtap.json').matchAll(/\$\{?(\w+)/g)].map(([, name]) => name);
  expect(used.filter((name) => !variables.includes(name ?? ''))).toEqual([]);
});

test('each rule of the diagnosis that is an error or a warning has an alert, which fires while its gauge is 1', () => {
  const alerts = [
    ...readText(RULES).matchAll(/- alert: (\w+)\n +expr: max\((leadtap_problem\{.+\})\) == 1/g),
  ];
  const rules = DIAGNOSIS.flatMap(({ name, levels }) => levels.map((level) => ({ name, level }))).filter(
    ({ level }) => level !== 'unknown',
  );
  expect(alerts.map(([, , series]) => series)).toEqual(
    rules.map(({ name, level }) => `leadtap_problem{name="${name}",level="${level}"}`),
  );
  const firingAt = (alertname: string, minute: number, count: number) => ({
    eval_time: `${minute}m`,
    expr: `count(ALERTS{alertname="${alertname}",alertstate="firing"}) or vector(0)`,
    exp_samples: [{ labels: '{}', value: count }],
  });
  const file = write('alerts.test.yaml', {
    rule_files: [join(ROOT, RULES)],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        // Two instances, of which one finds the problem.
        input_series: alerts.flatMap(([, , series = '']) => [
          { series: series.replace('}', ',instance="a:9464"}'), values: '0x60' },
          { series: series.replace('}', ',instance="b:9464"}'), values: '0x9 1x30 0x20' },
        ]),
        promql_expr_test: alerts.flatMap(([, name = '']) => [
          ...[firingAt(name, 9, 0), firingAt(name, 14, 0), firingAt(name, 26, 1), firingAt(name, 42, 0)],
        ]),
      },
    ],
  });
  promtool('test', 'rules', file);
});

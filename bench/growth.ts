/**
 * Does a poll cost more when more leads are stored? Imports 1,000 and 1,000,000 leads into two databases,
 * serves both, and compares empty polls and full pages in interleaved rounds of one run. Also tells the rate
 * and the peak memory of the large import.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Home, leadtap, type RunningService, serve, sqliteIn } from './leadtap.ts';
import { costPerRequest, median } from './load.ts';
import { leadChunks, organisation } from './made-up-leads.ts';

const { values } = parseArgs({
  options: { leads: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '9' } },
});

const LARGE = { leads: Number(values.leads), companies: 100, usersPerCompany: 10 };
const SMALL = { leads: 1000, companies: 10, usersPerCompany: 100 };
const REQUESTS_PER_ROUND = 500;
const BAR = 1.2;

const QUERIES = {
  empty: '?since=2999-01-01T00:00:00Z',
  full: '?limit=100',
};
type Kind = keyof typeof QUERIES;

interface Prepared {
  readonly service: RunningService;
  readonly tokens: readonly string[];
  readonly importSeconds: number;
  readonly importPeakRssMb: number | undefined;
}

const print = (line: string) => process.stdout.write(`${line}\n`);

async function prepare(home: Home, size: typeof LARGE): Promise<Prepared> {
  await leadtap(home, ['org', 'apply', '-'], [JSON.stringify(organisation(size))]);
  const imported = await leadtap(home, ['leads', 'import', '-'], leadChunks(size.leads, size.companies));
  const issued = await leadtap(home, ['token', 'issue', '--all-users', '--json']);
  const tokens = (JSON.parse(issued.stdout) as { token: string }[]).map(({ token }) => token);
  const service = await serve(home);
  const { seconds: importSeconds, peakRssMb: importPeakRssMb } = imported;
  return { service, tokens, importSeconds, importPeakRssMb };
}

/** Rounds of the two take turns, so that what disturbs the machine disturbs both. */
async function compare(kind: Kind, small: Prepared, large: Prepared, rounds: number) {
  const costs = { small: [] as number[], large: [] as number[] };
  for (let round = 0; round <= rounds; round += 1)
    for (const [name, { service, tokens }] of Object.entries({ small, large })) {
      const url = `${service.url}/automation/new-leads${QUERIES[kind]}`;
      const cost = await costPerRequest(url, tokens, REQUESTS_PER_ROUND);
      // The first round warms up.
      if (round > 0) costs[name as keyof typeof costs].push(cost);
    }
  const ratios = costs.large.map((cost, i) => cost / (costs.small[i] ?? Number.NaN));
  return {
    smallMs: median(costs.small),
    largeMs: median(costs.large),
    ratio: median(costs.large) / median(costs.small),
    spread: [Math.min(...ratios), Math.max(...ratios)],
  };
}

const root = await mkdtemp(join(tmpdir(), 'leadtap-bench-'));
const services: RunningService[] = [];
try {
  print(`importing ${SMALL.leads.toLocaleString('en')} and ${LARGE.leads.toLocaleString('en')} leads`);
  const small = await prepare(sqliteIn(join(root, 'small')), SMALL);
  services.push(small.service);
  const large = await prepare(sqliteIn(join(root, 'large')), LARGE);
  services.push(large.service);
  const importRate = Math.round(LARGE.leads / large.importSeconds);
  const peak = large.importPeakRssMb?.toFixed(0);
  print(
    `import: ${importRate.toLocaleString('en')} leads/s, peak RSS ${peak === undefined ? 'unknown' : `${peak} MB`}`,
  );

  const results: Record<string, unknown> = { importRate, importPeakRssMb: large.importPeakRssMb };
  let ok = true;
  for (const kind of ['empty', 'full'] as const) {
    const result = await compare(kind, small, large, Number(values.rounds));
    results[kind] = result;
    ok &&= result.ratio <= BAR;
    const [low, high] = result.spread.map((ratio) => ratio.toFixed(2));
    print(
      `${kind.padEnd(6)} ${result.smallMs.toFixed(3)} ms at ${SMALL.leads}, ${result.largeMs.toFixed(3)} ms at ${LARGE.leads}: ratio ${result.ratio.toFixed(2)} (${low} to ${high}), bar ${BAR}`,
    );
  }
  const folder = fileURLToPath(new URL('../../results/', import.meta.url));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'growth.json'), `${JSON.stringify(results, undefined, 2)}\n`);
  process.exitCode = ok ? 0 : 1;
} finally {
  await Promise.all(services.map((service) => service.stop()));
  await rm(root, { recursive: true, force: true });
}

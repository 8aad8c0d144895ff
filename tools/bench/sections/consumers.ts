import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startPostgres } from '../../../packages/testing/servers/postgres.ts';
import { atLeast, BARS } from '../bars.ts';
import type { LoadReport } from '../load/messages.ts';
import { pollRequest } from '../load/requests.ts';
import { organisation, WHOLE_COMPANY } from '../made-up/organisation.ts';
import { micros, ratio, whole } from '../report/figures.ts';
import { median, type Spread, spread } from '../report/statistics.ts';
import type { Bench, Section, SectionResult } from '../section.ts';
import { type Home, leadtap, sqliteIn } from '../service/leadtap.ts';
import { POSTGRES_SETTINGS } from '../service/postgres-settings.ts';
import { type RunningService, serve } from '../service/serve.ts';

type StoreName = 'sqlite' | 'postgres';

interface Side {
  readonly service: RunningService;
  readonly rates: number[];
  /** Processor time of the instance for a poll. */
  readonly costs: number[];
}

interface ConsumerFigures {
  readonly store: StoreName;
  readonly consumers: number;
  readonly onRate: number;
  readonly offRate: number;
  readonly ratio: Spread;
  readonly onMicros: number;
  readonly offMicros: number;
}

const SIZE = { companies: 10, usersPerCompany: 1000, places: WHOLE_COMPANY };
/** Consumers are written every 5 seconds: what remains is not to fall into the round of the other side. */
const SETTLE_MS = 6000;

/** One database with two instances: one records consumers, the other does not. */
async function measureStore(bench: Bench, store: StoreName): Promise<ConsumerFigures> {
  const folder = join(bench.folder, store);
  await mkdir(folder, { recursive: true });
  const server =
    store === 'postgres'
      ? bench.cleanup.own(await startPostgres({ settings: POSTGRES_SETTINGS }))
      : undefined;
  const home: Home = server ? { folder, settings: { LEADTAP_DATABASE_URL: server.url } } : sqliteIn(folder);
  await leadtap(home, ['org', 'apply', '-'], [JSON.stringify(organisation(SIZE))]);
  const issued: { token: string }[] = JSON.parse(
    await leadtap(home, ['token', 'issue', '--all-users', '--json']),
  );
  const requests = issued.map(({ token }) => pollRequest(token, '?since=2026-01-01T00:00:00.000Z&limit=100'));
  await bench.generator.learn({ name: store, requests });
  const start = async (setting: 'on' | 'off'): Promise<Side> => {
    const settings = { ...home.settings, LEADTAP_CONSUMERS: setting };
    return { service: bench.cleanup.own(await serve({ ...home, settings })), rates: [], costs: [] };
  };
  const [on, off] = [await start('on'), await start('off')];
  const load = ({ service: { port, pid, emptyLog } }: Side, seconds: number): Promise<LoadReport> => {
    emptyLog();
    const processes = { server: [pid] };
    return bench.generator.closedLoop(
      { requests: store, ports: [port], connections: 64, processes },
      { seconds },
    );
  };
  // Until the code is compiled.
  for (const side of [on, off]) await load(side, bench.options.quick ? 6 : 15);
  await pause(SETTLE_MS);
  for (let round = 0; round < bench.options.rounds; round += 1) {
    bench.progress(`${store}: round ${round + 1} of ${bench.options.rounds}`);
    for (const side of round % 2 === 0 ? [on, off] : [off, on]) {
      const { answers, seconds, processorMs } = await load(side, bench.options.quick ? 5 : 15);
      side.rates.push(answers / seconds);
      side.costs.push(((processorMs['server'] ?? 0) * 1000) / answers);
      if (side === on) await pause(SETTLE_MS);
    }
  }
  return {
    store,
    consumers: issued.length,
    onRate: median(on.rates),
    offRate: median(off.rates),
    ratio: spread(on.rates.map((rate, round) => rate / (off.rates[round] ?? 0))),
    onMicros: median(on.costs),
    offMicros: median(off.costs),
  };
}

async function measure(bench: Bench): Promise<SectionResult> {
  const figures = [await measureStore(bench, 'sqlite'), await measureStore(bench, 'postgres')];
  return {
    tables: [
      {
        title: `Empty polls a second of ${whole(figures[0]?.consumers ?? 0)} consumers, with and without recording their positions`,
        columns: ['', 'recorded', 'not recorded', 'ratio', 'a poll costs', 'not recorded'],
        rows: figures.map(
          ({ store, onRate, offRate, ratio: { median: of, low, high }, onMicros, offMicros }) => [
            store,
            ...[onRate, offRate].map(whole),
            `${ratio(of)} (${ratio(low)}-${ratio(high)})`,
            ...[onMicros, offMicros].map(micros),
          ],
        ),
        note: 'The cost is the processor time of the instance, the writes of positions included.',
      },
    ],
    verdicts: figures.map(({ store, ratio: { median: of } }) =>
      atLeast(BARS.consumersOfNone, of, `consumers, ${store}: empty polls, recorded to not recorded`),
    ),
    figures: { stores: figures },
  };
}

export const consumers: Section = {
  name: 'consumers',
  about: 'what it costs to record who polls and how far each has come',
  measure,
};

import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '../../../packages/testing/servers/free-port.ts';
import { atMost, BARS } from '../bars.ts';
import { pollOnce } from '../load/poll-once.ts';
import type { GrowthDatabase, StoreName } from '../made-up/growth/databases.ts';
import { tokenSigner } from '../made-up/growth/tokens.ts';
import { userId } from '../made-up/organisation.ts';
import { whole } from '../report/figures.ts';
import { type Spread, spread } from '../report/statistics.ts';
import type { Bench, Section, SectionResult } from '../section.ts';
import { signingKeyFile } from '../service/leadtap.ts';
import { serve } from '../service/serve.ts';

interface StartFigures {
  readonly store: StoreName;
  /** To the line that says where it serves. */
  readonly servingMs: Spread;
  /** To the whole answer to a first poll. */
  readonly answeredMs: Spread;
}

/** Asks until it is answered, as a client would who cannot wait. */
async function firstAnswerAt(port: number, token: string): Promise<number> {
  for (;;) {
    try {
      await pollOnce(port, token, '?limit=100');
      return Date.now();
    } catch {
      await wait(2);
    }
  }
}

async function startOnce({ home }: GrowthDatabase): Promise<{ servingMs: number; answeredMs: number }> {
  const port = await freePort();
  const token = tokenSigner(signingKeyFile(home.folder))(userId(0, 0));
  const answered = firstAnswerAt(port, token);
  const service = await serve(home, port);
  try {
    const { startedAt, servingAt } = service;
    return { servingMs: servingAt - startedAt, answeredMs: (await answered) - startedAt };
  } finally {
    await service.stop();
  }
}

async function measureStore(bench: Bench, store: StoreName): Promise<StartFigures> {
  const database = (await bench.databases())[store].large;
  const starts: Awaited<ReturnType<typeof startOnce>>[] = [];
  // The first one makes the key, if need be.
  await (await serve(database.home)).stop();
  for (let round = 0; round < bench.options.rounds; round += 1) {
    bench.progress(`${store}: start ${round + 1} of ${bench.options.rounds}`);
    starts.push(await startOnce(database));
  }
  return {
    store,
    servingMs: spread(starts.map(({ servingMs }) => servingMs)),
    answeredMs: spread(starts.map(({ answeredMs }) => answeredMs)),
  };
}

async function measure(bench: Bench): Promise<SectionResult> {
  const figures = [await measureStore(bench, 'sqlite'), await measureStore(bench, 'postgres')];
  const cell = ({ median, low, high }: Spread) => `${whole(median)} (${whole(low)}-${whole(high)})`;
  return {
    tables: [
      {
        title: 'Start-up on the large database, from the start of the process, in milliseconds',
        columns: ['', 'serving', 'first poll answered'],
        rows: figures.map(({ store, servingMs, answeredMs }) => [store, cell(servingMs), cell(answeredMs)]),
      },
    ],
    verdicts: figures.map(({ store, answeredMs }) =>
      atMost(BARS.startMs, answeredMs.median, `start-up, ${store}: ms to the first answer`),
    ),
    figures: { stores: figures },
  };
}

export const startUp: Section = {
  name: 'start-up',
  about: 'how long a start takes on an existing database',
  measure,
};

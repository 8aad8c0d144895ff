import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { type PostgresServer, startPostgres } from '../../../../packages/testing/servers/postgres.ts';
import { atLeast, BARS } from '../../bars.ts';
import { organisation, WHOLE_COMPANY } from '../../made-up/organisation.ts';
import { ratio, whole } from '../../report/figures.ts';
import { type Spread, spread } from '../../report/statistics.ts';
import type { Bench, Section, SectionResult } from '../../section.ts';
import { databaseFile, type Home, leadtap, sqliteIn } from '../../service/leadtap.ts';
import { newDatabase } from '../../service/postgres-database.ts';
import { POSTGRES_SETTINGS } from '../../service/postgres-settings.ts';
import { bareInsertRate, bareSqliteInsertRate } from './bare-insert.ts';
import { importRate, type Kind, writeLeadFile } from './imports.ts';
import { MAKE_UNSTAMPED, type Spreading, sqlWriteRate } from './sql-writers.ts';

interface ImportFigures {
  readonly store: 'sqlite' | 'postgres';
  readonly kind: Kind;
  readonly perSecond: Spread;
  readonly barePerSecond: Spread;
}

interface WriterFigures {
  readonly writers: number;
  readonly spreading: Spreading;
  readonly perSecond: number;
  readonly unstampedPerSecond: number;
}

const KINDS: readonly Kind[] = ['live', 'history'];
const WRITERS = [1, 8, 64];
const IN_WORDS: Record<Kind, string> = { live: 'over 100 companies', history: 'as history into one' };

async function measureImport(
  bench: Bench,
  server: PostgresServer,
  kind: Kind,
  leads: number,
): Promise<ImportFigures[]> {
  const file = await writeLeadFile(bench.folder, leads, kind);
  const rates = { sqlite: [] as number[], postgres: [] as number[] };
  const bare = { sqlite: [] as number[], postgres: [] as number[] };
  for (let round = 0; round < Math.min(3, bench.options.rounds); round += 1) {
    bench.progress(`import ${IN_WORDS[kind]}, round ${round + 1}`);
    const folder = join(bench.folder, `${kind}-${round}`);
    rates.sqlite.push(await importRate(sqliteIn(folder), file, leads, kind));
    bare.sqlite.push(bareSqliteInsertRate(databaseFile(folder), leads));
    const url = await newDatabase(server, `${kind}_${round}`);
    const home: Home = { folder, settings: { LEADTAP_DATABASE_URL: url } };
    rates.postgres.push(await importRate(home, file, leads, kind));
    bare.postgres.push(await bareInsertRate(url, leads));
  }
  return (['sqlite', 'postgres'] as const).map((store) => ({
    store,
    kind,
    perSecond: spread(rates[store]),
    barePerSecond: spread(bare[store]),
  }));
}

async function measureWriters(bench: Bench, server: PostgresServer): Promise<WriterFigures[]> {
  const url = await newDatabase(server, 'writers');
  const folder = join(bench.folder, 'writers');
  await mkdir(folder);
  const home: Home = { folder, settings: { LEADTAP_DATABASE_URL: url } };
  const size = { companies: Math.max(...WRITERS), usersPerCompany: 0, places: WHOLE_COMPANY };
  await leadtap(home, ['org', 'apply', '-'], [JSON.stringify(organisation(size))]);
  const client = new pg.Client(url);
  await client.connect();
  await client.query(MAKE_UNSTAMPED);
  await client.end();
  const seconds = bench.options.quick ? 2 : 5;
  const figures: WriterFigures[] = [];
  for (const spreading of ['one', 'many'] as const)
    for (const writers of WRITERS) {
      bench.progress(`${writers} programs insert into ${spreading}`);
      const unstampedPerSecond = await sqlWriteRate(url, writers, spreading, 'unstamped_leads', seconds);
      const perSecond = await sqlWriteRate(url, writers, spreading, 'leadtap.leads', seconds);
      figures.push({ writers, spreading, perSecond, unstampedPerSecond });
    }
  return figures;
}

async function measure(bench: Bench): Promise<SectionResult> {
  const leads = bench.options.quick ? 30_000 : 200_000;
  const server = bench.cleanup.own(await startPostgres({ settings: POSTGRES_SETTINGS }));
  const figures: ImportFigures[] = [];
  for (const kind of KINDS) figures.push(...(await measureImport(bench, server, kind, leads)));
  const writers = await measureWriters(bench, server);
  const cell = ({ median, low, high }: Spread) => `${whole(median)} (${whole(low)}-${whole(high)})`;
  return {
    tables: [
      {
        title: `leadtap leads import, ${whole(leads)} leads: leads a second, beside one bare INSERT of the same rows`,
        columns: ['', 'import', 'bare INSERT', 'ratio'],
        rows: figures.map(({ store, kind, perSecond, barePerSecond }) => [
          `${store}, ${IN_WORDS[kind]}`,
          cell(perSecond),
          cell(barePerSecond),
          ratio(perSecond.median / barePerSecond.median),
        ]),
      },
      {
        title: 'Programs that insert with SQL, a row and a transaction at a time: leads a second',
        columns: ['', 'with stamps', 'without', 'ratio'],
        rows: writers.map(({ spreading, writers: count, perSecond, unstampedPerSecond }) => [
          `${count} to ${spreading === 'one' ? 'one company' : 'as many companies'}`,
          whole(perSecond),
          whole(unstampedPerSecond),
          ratio(perSecond / unstampedPerSecond),
        ]),
      },
    ],
    verdicts: figures.map(({ store, kind, perSecond }) =>
      atLeast(
        store === 'sqlite' ? BARS.import.sqlitePerSecond : BARS.import.postgresPerSecond,
        perSecond.median,
        `import, ${store}, ${IN_WORDS[kind]}: leads a second`,
      ),
    ),
    figures: { leads, imports: figures, writers },
  };
}

export const imports: Section = {
  name: 'import',
  about: 'how fast leads come in, by import and by SQL',
  measure,
};

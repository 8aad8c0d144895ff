import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { leadLine } from '../../made-up/leads.ts';
import { organisation, WHOLE_COMPANY } from '../../made-up/organisation.ts';
import { type Home, leadtap } from '../../service/leadtap.ts';

/** News of 100 companies, or the history of one. */
export type Kind = 'live' | 'history';

export const COMPANIES: Record<Kind, number> = { live: 100, history: 1 };

/** In chunks of many lines, each a millisecond after the one before. */
function* lines(leads: number, kind: Kind): Generator<string> {
  const chunk = 500;
  const first = Date.UTC(2025, 0, 1);
  for (let from = 0; from < leads; from += chunk) {
    const length = Math.min(chunk, leads - from);
    const line = (n: number) =>
      leadLine(n, COMPANIES[kind], kind === 'history' ? new Date(first + n).toISOString() : undefined);
    yield `${Array.from({ length }, (_, i) => line(from + i)).join('\n')}\n`;
  }
}

export async function writeLeadFile(folder: string, leads: number, kind: Kind): Promise<string> {
  const file = join(folder, `${kind}.ndjson`);
  await pipeline(Readable.from(lines(leads, kind)), createWriteStream(file));
  return file;
}

/** Leads a second into an empty database, by the real command, from its start to its end. */
export async function importRate(home: Home, file: string, leads: number, kind: Kind): Promise<number> {
  await mkdir(home.folder, { recursive: true });
  const size = { companies: COMPANIES[kind], usersPerCompany: 0, places: WHOLE_COMPANY };
  await leadtap(home, ['org', 'apply', '-'], [JSON.stringify(organisation(size))]);
  const startedAt = performance.now();
  await leadtap(home, ['leads', 'import', file, ...(kind === 'history' ? ['--historical'] : [])]);
  return leads / ((performance.now() - startedAt) / 1000);
}

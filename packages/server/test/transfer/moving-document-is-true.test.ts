import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failureOfOutcome } from '../../src/cli/migrate/report.ts';
import { run } from './commands.ts';
import { makeFilledEndpoints } from './filled.ts';

const text = readFileSync(new URL('../../../../docs/postgresql.md', import.meta.url), 'utf8');
const page = text.split('\n## Move from SQLite\n')[1]?.split('\n## ')[0] ?? '';

/** The code blocks of a language, without the indentation of their list. */
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]+?)^ *\`\`\``, 'gm'))].map(
    ([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );

const EXAMPLE = 'postgres://leadtap:secret@db.example.com:5432/leadtap';
const commands = blocks('sh').flatMap((block) => block.trim().split('\n'));

const DATABASES = {
  from: { kind: 'sqlite', file: '/data/leadtap.db' },
  to: { kind: 'postgres', url: EXAMPLE, connections: 1 },
} as const;

const REFUSED = [
  { kind: 'unsupported', found: { total: 2, first: [] } },
  { kind: 'foreign-target', table: 'companies', row: { id: 'acme' } },
  { kind: 'different', difference: { table: 'leads', sourceRows: 6, targetRows: 6 } },
] as const;

describe('docs/postgresql.md, "Move from SQLite"', () => {
  it('shows both ways to give the target', () => {
    expect(commands).toEqual([
      expect.stringContaining(`--to ${EXAMPLE}`),
      expect.not.stringContaining('--to'),
    ]);
  });

  it.each(commands)('its command does what it says: %s', async (command) => {
    const endpoints = await makeFilledEndpoints({ hasSchema: false });
    if (!command.includes('--to'))
      writeFileSync(join(endpoints.folder, '.env'), `LEADTAP_DATABASE_URL=${endpoints.to}\n`);
    const argv = command.replace(EXAMPLE, endpoints.to).replace('npx leadtap ', '').split(' ');
    const { code, stdout } = await run(endpoints, argv);
    expect(code).toBe(0);
    expect(stdout).toBe(blocks('text').join(''));
  });

  it('quotes the messages of the program', () => {
    const [inUse, ...others] = [...page.matchAll(/^\| (?!it says|-)([^|]+) \|/gm)].map(
      ([, quote = '']) => quote,
    );
    expect(inUse).toBe('another program has the database open');
    const refusals = REFUSED.map((outcome) => failureOfOutcome(outcome, DATABASES).message);
    for (const [index, quote] of others.entries())
      expect(refusals[index]).toMatch(new RegExp(`^${quote.replaceAll('…', '.+')}`));
    expect(others).toHaveLength(refusals.length);
  });
});

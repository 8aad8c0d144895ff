import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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

describe('docs/postgresql.md, "Move from SQLite"', () => {
  it.each(commands)('its command does what it says: %s', async (command) => {
    const endpoints = await makeFilledEndpoints({ hasSchema: false });
    if (!command.includes('--to'))
      writeFileSync(join(endpoints.folder, '.env'), `LEADTAP_DATABASE_URL=${endpoints.to}\n`);
    const argv = command.replace(EXAMPLE, endpoints.to).replace('npx leadtap ', '').split(' ');
    const { code, stdout } = await run(endpoints, argv);
    expect(code).toBe(0);
    expect(stdout).toBe(blocks('text').join(''));
  });
});

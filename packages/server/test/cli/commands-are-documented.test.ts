import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseOrganisation } from '../../src/accounts/organisation.ts';
import { COMMANDS } from './every-command.ts';
import { terminal } from './terminal.ts';

const page = readFileSync(new URL('../../../../docs/command-line.md', import.meta.url), 'utf8');

const all = COMMANDS.map(({ name, command }) => ({ path: `leadtap ${name}`, command }));

test('docs/command-line.md has sections of existing commands only', () => {
  const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  expect(sections.filter((title) => !all.some(({ path }) => path === title))).toEqual([]);
});

describe.each(all)('$path', ({ path, command }) => {
  test('--help describes the command and every option', async () => {
    const { code, stdout } = await terminal().run([...path.split(' ').slice(1), '--help']);
    expect(code).toBe(0);
    expect(command.description()).not.toBe('');
    for (const { long, description } of command.options) {
      expect(description).not.toBe('');
      expect(stdout).toContain(long);
    }
  });
});

test('the organisation file in docs/command-line.md is valid', () => {
  const [, json = ''] = /```json\n([\s\S]+?)```/.exec(page) ?? [];
  expect(parseOrganisation(JSON.parse(json)).kind).toBe('ok');
});

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseOrganisation } from '../../src/accounts/organisation.ts';
import { COMMANDS } from './every-command.ts';
import { terminal } from './terminal.ts';

const page = readFileSync(new URL('../../../../docs/command-line.md', import.meta.url), 'utf8');

const all = COMMANDS.map(({ name, command }) => ({ path: `leadtap ${name}`, command }));

test('docs/command-line.md has a section for each command and no other', () => {
  const sections = [...page.matchAll(/^## (leadtap .+)$/gm)].map(([, title]) => title);
  expect(sections.sort()).toEqual(all.map(({ path }) => path).sort());
});

describe.each(all)('$path', ({ path, command }) => {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${path}\n`)) ?? '';

  test('its section names every option', () => {
    for (const { long } of command.options) expect(section).toContain(long);
  });

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

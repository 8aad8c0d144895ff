import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { terminalWithUsers } from '../cli/terminal.ts';
import { EXPORTED_FILES, type ExportedFile } from './support/exported-files.ts';

const TIME_ZONE = { parts: { timeZone: 'Europe/Berlin' } };

/** The words of a line of a shell, without its quotes. */
const wordsOf = (line: string): string[] =>
  (line.match(/(?:"[^"]*"|'[^']*'|\\.|[^\s"'\\])+/g) ?? []).map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'|\\(.)/g, '$1$2$3'),
  );

async function shellWith(file: ExportedFile) {
  const shell = await terminalWithUsers();
  writeFileSync(shell.path(file.name), file.content);
  const run = (flags: readonly string[]) => shell.run(['leads', 'import', file.name, ...flags], TIME_ZONE);
  const leads = async () =>
    JSON.parse((await shell.run('leads list --company acme --since 1970-01-01 --json')).stdout);
  return { ...shell, import: run, leads };
}

describe.each(EXPORTED_FILES)('%s', (_program, file) => {
  const { leads: expected, rejected = 0, map } = file;
  const result = `${expected.length} added, 0 updated, ${rejected} rejected\n`;

  test('the suggestion, pasted as it is, gives the best result', async () => {
    const shell = await shellWith(file);
    const refused = await shell.import(['--company', 'acme']);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: '' });
    const [, suggested = ''] = /To use the file as it is, add (.*)\n/.exec(refused.stderr) ?? [];
    const imported = await shell.import(['--company', 'acme', ...wordsOf(suggested)]);
    expect(imported.stdout).toBe(result);
    expect(await shell.leads()).toMatchObject(expected);
  });

  test('--map auto uses the suggestion, and prints it', async () => {
    const shell = await shellWith(file);
    const auto = ['--map', 'auto', '--company', 'acme', ...(file.flags ?? [])];
    const { stdout, stderr } = await shell.import([...auto, '--dry-run']);
    expect(stdout).toContain(result);
    const [, used = ''] = / are used as with ([^\n]*)/.exec(stderr) ?? [];
    const pairs = wordsOf(used).filter((word) => word.includes('='));
    // A column with the name of its field needs no option.
    const needed = Object.entries(map).filter(
      ([column, field]) => column.toLowerCase() !== field.toLowerCase(),
    );
    expect(pairs.sort()).toEqual(needed.map((pair) => pair.join('=')).sort());
  });
});

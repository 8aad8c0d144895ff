import { readFileSync } from 'node:fs';
import { IMPORT_FIELDS } from '@leadtap/contract';
import { describe, expect, test } from 'vitest';
import { terminal } from '../cli/terminal.ts';

const page = readFileSync(new URL('../../../../docs/importing-leads.md', import.meta.url), 'utf8');

const block = (language: string) =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]+?)\`\`\``).exec(page)?.[1] ?? '';

const ORGANISATION = {
  companies: [
    { id: 'soleil', name: 'Soleil', branches: [{ id: 'lyon', name: 'Lyon', departments: [] }], users: [] },
  ],
};

describe('docs/importing-leads.md', () => {
  test('its table names exactly the fields that can be imported', () => {
    const names = page
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(names.sort()).toEqual(IMPORT_FIELDS.map(({ name }) => name).sort());
  });

  test.each([
    ['ndjson', '2 added, 1 updated, 0 rejected\n'],
    ['json', '2 added, 0 updated, 0 rejected\n'],
    ['csv', '2 added, 0 updated, 0 rejected\n'],
  ])('its %s can be imported unchanged', async (format, result) => {
    const shell = terminal();
    shell.save('organisation.json', ORGANISATION);
    await shell.run('org apply organisation.json');
    shell.save(`leads.${format}`, block(format));
    expect(await shell.run(`leads import leads.${format}`)).toEqual({ code: 0, stdout: result, stderr: '' });
  });

  test('its messages are those of the program', async () => {
    const shell = terminal();
    shell.save('organisation.json', ORGANISATION);
    await shell.run('org apply organisation.json');
    const stdin = `${'\n'.repeat(6)}{"companyId":"soleil","email":"ada"}\n\n{"companyId":"solei"}\n`;
    const { stderr } = await shell.run('leads import -', { stdin });
    expect(page).toContain(`\n${stderr}`);
  });
});

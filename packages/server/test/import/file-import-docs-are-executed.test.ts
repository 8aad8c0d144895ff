import { readFileSync } from 'node:fs';
import { IMPORT_FIELDS } from '@leadtap/contract';
import { describe, expect, test } from 'vitest';
import { terminal } from '../cli/terminal.ts';

const text = readFileSync(new URL('../../../../docs/getting-leads-in.md', import.meta.url), 'utf8');
const [, page = ''] = text.split('\n## Files\n');

const block = (language: string) =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]+?)\`\`\``).exec(page)?.[1] ?? '';

const user = (id: string, accessLevel: string, rest: object = {}) => ({
  ...{ id, plan: 'PROFESSIONAL', accessLevel, ...rest },
});

const ORGANISATION = {
  companies: [
    {
      id: 'soleil',
      name: 'Soleil',
      branches: [{ id: 'lyon', name: 'Lyon', departments: [{ id: 'repairs', name: 'Repairs' }] }],
      users: [
        user('ada', 'COMPANY'),
        user('ben', 'BRANCH', { branchId: 'lyon' }),
        user('bo', 'BRANCH', { branchId: 'lyon' }),
        user('cy', 'DEPARTMENT', { departmentId: 'repairs' }),
      ],
    },
  ],
};

/** The commands of the page, each as its arguments after `npx leadtap`. */
const commands = [...page.matchAll(/```sh\n([\s\S]+?)```/g)].map(([, text = '']) =>
  [...text.replaceAll('\\\n', ' ').matchAll(/"([^"]*)"|(\S+)/g)]
    .map(([, quoted, plain]) => quoted ?? plain ?? '')
    .slice(2),
);

describe('docs/getting-leads-in.md, "Files"', () => {
  test('its table names exactly the fields that can be imported', () => {
    const [, table = ''] = /<!-- generated: import fields([\s\S]+?)<!-- end/.exec(page) ?? [];
    const names = table
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
    expect(await shell.run(`leads import leads.${format}`)).toMatchObject({ code: 0, stdout: result });
  });

  test('its contacts are imported with its commands', async () => {
    const shell = terminal();
    shell.save('organisation.json', ORGANISATION);
    await shell.run('org apply organisation.json');
    shell.save('contacts.csv', block('text'));
    const [auto = [], mapped = []] = commands.filter((command) => command.includes('contacts.csv'));
    expect((await shell.run(auto)).stdout).toContain('2 added, 0 updated, 0 rejected\n');
    expect((await shell.run(mapped)).stdout).toBe('2 added, 0 updated, 0 rejected\n');
    const lead = JSON.parse((await shell.run('leads show 17 --json')).stdout);
    expect(lead).toMatchObject({ firstName: 'Zoë', customFields: { note: 'ruft zurück' } });
  });

  test('its times are read with its command', async () => {
    const shell = terminal();
    shell.save('organisation.json', ORGANISATION);
    await shell.run('org apply organisation.json');
    shell.save('termine.csv', 'id;appointmentDateTime\n1;05.03.2026 14:00\n');
    const [command = []] = commands.filter((arguments_) => arguments_.includes('termine.csv'));
    expect((await shell.run(command)).stdout).toBe('1 added, 0 updated, 0 rejected\n');
    const lead = JSON.parse((await shell.run('leads show 1 --json')).stdout);
    expect(lead.appointmentDateTime).toBe('2026-03-05T13:00:00.000Z');
  });

  test('its dry run prints what it shows', async () => {
    const shell = terminal();
    shell.save('organisation.json', ORGANISATION);
    await shell.run('org apply organisation.json');
    await shell.run('leads import -', { stdin: '{"companyId":"soleil","id":"5","phone1":"5"}\n' });
    const places = [{}, { branchId: 'lyon' }, { branchId: 'lyon' }, { departmentId: 'repairs' }, {}];
    const leads = places.map((place, index) => ({
      companyId: 'soleil',
      id: `${index + 1}`,
      phone1: '1',
      ...place,
    }));
    shell.save('leads.ndjson', leads.map((lead) => `${JSON.stringify(lead)}\n`).join(''));
    const [command = []] = commands.filter((arguments_) => arguments_.includes('leads.ndjson'));
    expect(page).toContain(`\`\`\`\n${(await shell.run(command)).stdout}\`\`\``);
  });

  test('its messages are those of the program', async () => {
    const shell = terminal();
    shell.save('organisation.json', ORGANISATION);
    await shell.run('org apply organisation.json');
    const stdin = `${'\n'.repeat(6)}{"companyId":"soleil","email":"ada"}\n\n{"companyId":"solei","phone1":"1"}\n`;
    const { stderr } = await shell.run('leads import -', { stdin });
    expect(page).toContain(`\n${stderr}`);
  });
});

import { describe, expect, test } from 'vitest';
import { assignFields } from '../../src/leads/assign-fields.ts';
import { terminal, terminalWithUsers } from '../cli/terminal.ts';
import { NOW } from './support/read-lines.ts';

const OPTIONS = { historical: false, clock: () => NOW };

/** The fields of a table: its first row has the names of the columns. */
function assign(table: readonly (readonly string[])[], options: object = {}): readonly string[] {
  const [columns = [], ...rows] = table;
  const labels = columns.map((name, index) => ({
    name,
    values: rows.map((row) => row[index] ?? '').filter(Boolean),
  }));
  return assignFields(labels, { ...OPTIONS, ...options }).map(({ field }) => field);
}

describe('ids', () => {
  test.each(['Record ID', 'Lead ID', 'LEAD_ID', 'Kundennr', 'Kunden-Nr.', 'Kundennummer', 'Contact ID'])(
    '%s is the id',
    (name) => {
      expect(assign([[name], ['17'], ['18']])).toEqual(['id']);
    },
  );

  test('a column with the same value twice is no id: the rows would overwrite each other', () => {
    expect(assign([['Lead ID'], ['17'], ['17']])).toEqual(['customFields.Lead ID']);
  });

  test('a count of the rows is no id: the next file has the same numbers', () => {
    expect(assign([['Nr.'], ['1'], ['2'], ['3']])).toEqual(['customFields.Nr.']);
    expect(assign([['#'], ['101'], ['102']])).toEqual(['customFields.#']);
    expect(assign([['#'], ['a81'], ['a17']])).toEqual(['id']);
  });
});

describe('a field is assigned only if the cells can be its values', () => {
  test('statuses', () => {
    const isStatus = (text: string) => ['Neu', 'NEW'].includes(text);
    expect(assign([['Status'], ['Neu'], ['']], { isStatus })).toEqual(['statusValue']);
    expect(assign([['Status'], ['Neu'], ['Alt']], { isStatus })).toEqual(['customFields.Status']);
    expect(assign([['Status'], ['Neu']])).toEqual(['customFields.Status']);
  });

  test('times', () => {
    expect(assign([['Termin'], ['2026-03-05 14:00']])).toEqual(['appointmentDateTime']);
    expect(assign([['Termin'], ['05.03.2026 14:00']])).toEqual(['appointmentDateTime']);
    expect(assign([['Termin'], ['nach Absprache']])).toEqual(['customFields.Termin']);
  });

  test('e-mail addresses, of which some may be mistyped', () => {
    expect(assign([['Mail'], ['ada@example.com'], ['ada']])).toEqual(['email']);
    expect(assign([['Mail'], ['yes'], ['no'], ['ada@example.com']])).toEqual(['customFields.Mail']);
  });
});

test.each([
  ['your-name', 'fullName'],
  ['your-email', 'email'],
  ['your-tel', 'phone1'],
  ['Your phone number', 'phone1'],
  ["What's your first name?", 'firstName'],
  ['What is your work e-mail?', 'email'],
  ['Ihre E-Mail-Adresse', 'email'],
  ['Votre prénom', 'firstName'],
  ['your-message', 'customFields.your-message'],
  // Probably a phone number.
  ['Your number', 'customFields.Your number'],
])('%s is %s', (label, field) => {
  expect(assign([[label]])).toEqual([field]);
});

test('numbers that a spreadsheet has shortened are phone numbers, which are then rejected', () => {
  expect(assign([['Phone'], ['5.55E+09'], ['4,9E+10']])).toEqual(['phone1']);
});

test('no field is assigned twice', () => {
  expect(assign([['Email', 'Work email', 'Phone', 'Mobile', 'Home phone']])).toEqual([
    ...['email', 'customFields.Work email', 'phone1', 'phone2', 'customFields.Home phone'],
  ]);
  expect(assign([['Mobile']])).toEqual(['phone1']);
  expect(assign([['Address', 'Address 2']])).toEqual(['address', 'customFields.Address 2']);
  expect(assign([['Name']])).toEqual(['fullName']);
  expect(assign([['Vorname', 'Name']])).toEqual(['firstName', 'lastName']);
  expect(assign([['Notes', 'Notes']])).toEqual(['customFields.Notes', 'customFields.Notes 2']);
});

describe('--map auto', () => {
  const COMMAND = 'leads import - --format csv --company acme --map auto';

  test('loses no column although names are there twice or missing, and says what it does with them', async () => {
    const shell = await terminalWithUsers();
    const stdin =
      'id,email,Email,Phone,Notes,Notes,,phone1,\n1,a@example.com,b@example.com,01 23,x,y,z,04 56,\n';
    const { code, stderr } = await shell.run(COMMAND, { stdin });
    expect(code, stderr).toBe(0);
    expect(stderr).toContain(
      [
        'are used as with --map Phone=phone2, column 3 as "customFields.Email", column 5 as "customFields.Notes"',
        'column 6 as "customFields.Notes 2", column 7 as "customFields.column 7"\n',
      ].join(', '),
    );
    expect(JSON.parse((await shell.run('leads list --json')).stdout)).toMatchObject([
      {
        ...{ id: '1', email: 'a@example.com', phone1: '04 56', phone2: '01 23' },
        customFields: { Email: 'b@example.com', Notes: 'x', 'Notes 2': 'y', 'column 7': 'z' },
      },
    ]);
  });

  test('two columns that --map names for one field stay an error', async () => {
    const shell = await terminalWithUsers();
    const { code, stderr } = await shell.run(`${COMMAND} --map A=email --map B=email`, {
      stdin: 'A,B\nx,y\n',
    });
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('already the field') });
  });

  test.each([
    ['Ada,Lovelace,ada@example.com', '"ada@example.com"'],
    ['Ada,Lovelace,+33 1 70 18 99 00', '"+33 1 70 18 99 00"'],
    ['Ada,05.03.2026 14:00', '"05.03.2026 14:00"'],
  ])('a file whose first row is a lead is refused: %s', async (row, value) => {
    const shell = await terminalWithUsers();
    for (const command of [COMMAND, COMMAND.replace('--map auto', '')]) {
      const { code, stderr } = await shell.run(command.trim(), { stdin: `${row}\n${row}\n` });
      expect(code).toBe(1);
      expect(stderr).toContain(
        `It looks like a lead, because it has ${value}: add a line above it that names the columns, such as firstName,`,
      );
    }
    const map = `--map ${value.slice(1, -1)}=customFields.x`.split('--map ');
    const { code, stderr } = await shell.run(
      [...COMMAND.split(' '), '--map', map[1] ?? '', '--map', 'Ada=fullName'],
      {
        stdin: `${row}\n${row}\n`,
      },
    );
    expect(code, stderr).toBe(0);
  });

  test('a file without any known name is refused, unless a column is named', async () => {
    const shell = await terminalWithUsers();
    const stdin = 'Ada,Lovelace\nGrace,Hopper\n';
    const { code, stderr } = await shell.run(COMMAND, { stdin });
    expect(code).toBe(1);
    expect(stderr).toContain('has no column that --map auto knows');
    expect(stderr).toContain('If its first line is a lead: add a line above it that names the columns');
    expect(stderr).toContain('Otherwise name the field of a column, such as --map Ada=fullName');
    expect((await shell.run(`${COMMAND} --map Ada=fullName`, { stdin })).code).toBe(0);
  });
});

test('the company of a contact is not the company of the lead', () => {
  expect(assign([['Company', 'Branch', 'company_id']])).toEqual([
    ...['customFields.Company', 'customFields.Branch', 'companyId'],
  ]);
});

test('a time of creation is a field of historical imports', () => {
  const table = [
    ['Create Date', 'created_time', 'Erstellt am'],
    ['2026-01-01', '', ''],
  ];
  expect(assign(table)).toEqual([
    'customFields.Create Date',
    'customFields.created_time',
    'customFields.Erstellt am',
  ]);
  expect(assign(table, { historical: true })[0]).toBe('createdAt');
});

describe('leads import', () => {
  test('create dates get one answer, which names --historical', async () => {
    const shell = await terminalWithUsers();
    shell.save('leads.csv', 'Lead ID,firstName,Create Date\n17,Ada,2026-01-01 10:00\n');
    const { stderr } = await shell.run('leads import leads.csv --company acme');
    expect(stderr.match(/^.*(--historical|Create Date).*$/gm)).toEqual([
      expect.stringMatching(/^ {2}"Create Date": is when the lead was created: .* add --historical/),
      expect.stringContaining("--map 'Create Date=customFields.Create Date'"),
    ]);
    const historical = await shell.run('leads import leads.csv --company acme --historical --map auto');
    expect(historical.stdout).toBe('1 added, 0 updated, 0 rejected\n');
    const [lead] = JSON.parse((await shell.run('leads list --json')).stdout);
    expect(lead).toMatchObject({ id: '17', createdAt: '2026-01-01T10:00:00.000Z' });
  });

  test('the only company is part of the suggestion', async () => {
    const shell = await terminalWithUsers();
    shell.save('leads.csv', 'Kundennr\n17\n');
    expect((await shell.run('leads import leads.csv')).stderr).toContain('add --map auto\n');
    const solo = terminal();
    solo.save('one.json', { companies: [{ id: 'solo', name: 'Solo', branches: [], users: [] }] });
    await solo.run('org apply one.json');
    solo.save('leads.csv', 'Kundennr\n17\n');
    expect((await solo.run('leads import leads.csv')).stderr).toContain('add --company solo --map auto\n');
  });

  test('a file without ids says before it writes that a second import adds the leads again', async () => {
    const shell = await terminalWithUsers();
    shell.save('leads.csv', 'companyId,firstName\nacme,Ada\n');
    const { stderr } = await shell.run('leads import leads.csv --dry-run');
    expect(stderr).toMatch(
      /^leads\.csv has leads without an id\. If you import it again, they are added again\.\n/,
    );
    const store = { parts: { openStore: () => Promise.reject(new Error('closed')) } };
    expect((await shell.run('leads import leads.csv', store)).stderr).not.toContain('without an id');
    shell.save('leads.csv', 'companyId,id,firstName\nacme,1,Ada\n');
    expect((await shell.run('leads import leads.csv')).stderr).toBe('');
  });

  test('times that must be named stop --map auto before the first row', async () => {
    const shell = await terminalWithUsers();
    shell.save('leads.csv', 'Kundennr;Termin\n17;05.03.2026 14:00\n');
    const parts = { timeZone: 'Europe/Berlin' };
    const { code, stdout, stderr } = await shell.run('leads import leads.csv --company acme --map auto', {
      parts,
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain("Add --date-format 'DD.MM.YYYY HH:mm' --time-zone Europe/Berlin\n");
  });
});

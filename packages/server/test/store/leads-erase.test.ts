import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { terminal, terminalWithUsers } from '../cli/terminal.ts';

const ADA = {
  companyId: 'acme',
  id: 'ada-1',
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'Ada.Lovelace@Mail.example',
  phone1: '+33 6 12 34 56 78',
};
const LEADS = [
  ADA,
  { companyId: 'acme', id: 'ada-2', fullName: 'A. Lovelace', email: 'ada.lovelace@mail.EXAMPLE' },
  { companyId: 'globex', id: 'ada-3', phone2: '0033 (6) 12-34-56-78' },
  { companyId: 'acme', id: 'bob', firstName: 'Bob', email: 'bob@mail.example', phone1: '+33 6 12 34 56 7' },
  { companyId: 'acme', id: 'twin', email: 'twin@mail.example' },
  { companyId: 'globex', id: 'twin', email: 'twin@other.example' },
];

const toNdjson = (leads: readonly object[]) => leads.map((lead) => `${JSON.stringify(lead)}\n`).join('');

async function terminalWithLeads() {
  const shell = await terminalWithUsers();
  const add = (leads: readonly object[], ...flags: string[]) =>
    shell.run(['leads', 'import', '-', '--format', 'ndjson', ...flags], { stdin: toNdjson(leads) });
  await add(LEADS);
  const stored = async () => {
    const store = await (await shell.database()).openStore();
    const pages = await Promise.all(
      ['acme', 'globex'].map((companyId) =>
        store.readPage({ scope: { level: 'COMPANY', companyId }, since: 0, limit: 100 }),
      ),
    );
    await store.close();
    return pages.flatMap(({ leads }) => leads);
  };
  const ids = async () => (await stored()).map(({ id }) => id);
  return { ...shell, add, stored, ids };
}

/** Standard input of a terminal, on which a person types this. */
const typed = (text: string) => Object.assign(Readable.from([text]), { isTTY: true });

const BY_EMAIL = ['leads', 'erase', '--email', 'ADA.lovelace@mail.example'];

describe('leads erase', () => {
  test('by e-mail address without regard to case, and by the digits of either phone number', async () => {
    const { run, ids } = await terminalWithLeads();
    const { code, stdout } = await run([...BY_EMAIL, '--phone', '+33 612345678', '--yes']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '3 leads erased\n' });
    expect(await ids()).toEqual(['bob', 'twin', 'twin']);
  });

  test('only in one company', async () => {
    const { run, ids } = await terminalWithLeads();
    expect((await run('leads erase --phone 0033612345678 --company globex --yes')).code).toBe(0);
    expect(await ids()).toEqual(['ada-1', 'ada-2', 'bob', 'twin', 'twin']);
  });

  test('by ids; one unknown id, or an id of two companies, erases nothing', async () => {
    const { run, ids } = await terminalWithLeads();
    const unknown = await run('leads erase bob unknown --yes');
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toContain('leadtap: there is no lead unknown\n');
    const twice = await run('leads erase twin bob --yes');
    expect(twice).toMatchObject({ code: 1, stdout: '' });
    expect(twice.stderr).toContain('2 companies have a lead twin: acme, globex\n');
    expect(await ids()).toHaveLength(6);
    expect((await run('leads erase twin bob --company acme --yes')).stdout).toBe('2 leads erased\n');
    expect(await ids()).toEqual(['ada-1', 'ada-2', 'ada-3', 'twin']);
  });

  test('on a terminal it shows the leads and asks; anything but yes erases nothing', async () => {
    const { run, ids } = await terminalWithLeads();
    for (const text of ['n\n', '\n', 'yesterday\n', '']) {
      const { code, stdout, stderr } = await run(BY_EMAIL, { isTTY: true, parts: { stdin: typed(text) } });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^ID +COMPANY +CREATED +NAME\n/m);
      expect(stderr).toMatch(/^ada-1 +acme +2026-03-02T09:30:00\.\d+Z +Ada Lovelace\n/m);
      expect(stderr).toMatch(/^ada-2 +acme +\S+ +A\. Lovelace\n/m);
      expect(stderr).toMatch(/Erase 2 leads for good\? \[y\/N\] \n?Nothing was deleted\.\n/);
    }
    expect(await ids()).toHaveLength(6);
    const { code, stdout } = await run(BY_EMAIL, { isTTY: true, parts: { stdin: typed('Y\n') } });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '2 leads erased\n' });
    expect(await ids()).toEqual(['bob', 'twin', 'ada-3', 'twin']);
  });

  test('without a terminal it needs --yes, and exits with 2 before it reads anything', async () => {
    const { run } = terminal({ empty: true });
    for (const command of ['leads erase 4711', 'leads prune --older-than 400d']) {
      const { code, stderr } = await run(command);
      expect(code).toBe(2);
      expect(stderr).toMatch(/asks before it deletes, and there is no terminal to ask on\n {2}Add --yes/);
    }
  });

  test('with --yes it prints no personal data, which a script would keep in its log', async () => {
    const { run } = await terminalWithLeads();
    const { stdout, stderr } = await run([...BY_EMAIL, '--yes']);
    expect(`${stdout}${stderr}`).not.toMatch(/Ada|Lovelace|mail\.example/);
    expect(stderr).toContain('rejects files');
  });

  test('--dry-run shows the leads and erases nothing', async () => {
    const { run, ids } = await terminalWithLeads();
    const { code, stdout } = await run([...BY_EMAIL, '--dry-run']);
    expect(code).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(3);
    const json = JSON.parse((await run([...BY_EMAIL, '--dry-run', '--json'])).stdout);
    expect(json.leads).toMatchObject([
      { companyId: 'acme', id: 'ada-1', name: 'Ada Lovelace' },
      { companyId: 'acme', id: 'ada-2', name: 'A. Lovelace' },
    ]);
    expect(await ids()).toHaveLength(6);
  });

  test('--json prints what was erased, without names, and what remains', async () => {
    const { run } = await terminalWithLeads();
    const { code, stdout } = await run([...BY_EMAIL, '--yes', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      erased: 2,
      isComplete: true,
      remains: expect.any(Array),
      refused: [],
      leads: ['ada-1', 'ada-2'].map((id) => ({ companyId: 'acme', id, createdAt: expect.any(String) })),
    });
  });

  test('--no-vacuum leaves the files as they are, says so, and --vacuum alone cleans them', async () => {
    const { run } = await terminalWithLeads();
    const { code, stderr } = await run([...BY_EMAIL, '--yes', '--no-vacuum']);
    expect(code).toBe(0);
    expect(stderr).toContain('Run `leadtap leads erase --vacuum` later.');
    expect(await run('leads erase --vacuum')).toMatchObject({
      code: 0,
      stdout: 'The files of the database were cleaned.\n',
    });
  });

  test.each([
    [['leads', 'erase', '--yes'], 'nothing says which leads to erase'],
    [['leads', 'erase', '--dry-run', '--vacuum'], 'nothing says which leads to erase'],
    [['leads', 'erase', '--email', 'ada', '--yes'], '--email ada is not an e-mail address'],
    [['leads', 'erase', '--phone', '12-34', '--yes'], '--phone 12-34 has fewer than 5 digits'],
  ])('%j is refused with 2', async (argv, message) => {
    const { code, stderr } = await terminal().run(argv);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  test('no match is 1', async () => {
    const { run } = await terminalWithLeads();
    const { code, stderr } = await run('leads erase --email unknown@mail.example --yes');
    expect(code).toBe(1);
    expect(stderr).toContain('leadtap: no lead matches; nothing was erased');
  });
});

describe('a lead that was erased', () => {
  test('is rejected by an import, which says how to add it', async () => {
    const { run, add, ids } = await terminalWithLeads();
    await run([...BY_EMAIL, '--yes']);
    const { code, stdout, stderr } = await add([ADA, { companyId: 'acme', id: 'new', phone1: '1' }]);
    expect(code).toBe(1);
    expect(stdout).toContain('1 added, 0 updated, 1 rejected');
    expect(stderr).toContain(
      'lead "ada-1" was erased; leadtap leads import --allow-erased adds it as a new lead',
    );
    expect(await ids()).not.toContain('ada-1');
    // In another company it is another lead.
    expect((await add([{ ...ADA, companyId: 'globex' }])).stdout).toContain('1 added');
  });

  test('is reported together with the other errors of its line', async () => {
    const { run, add } = await terminalWithLeads();
    await run([...BY_EMAIL, '--yes']);
    const { stderr } = await add([{ ...ADA, statusValue: 'OTHER' }]);
    expect(stderr).toContain('unknown status "OTHER"');
    expect(stderr).toContain('lead "ada-1" was erased');
  });

  test('is a new lead with --allow-erased, and from then on like any other', async () => {
    const { run, add, stored } = await terminalWithLeads();
    const before = (await stored()).find(({ id }) => id === 'ada-1');
    await run([...BY_EMAIL, '--yes']);
    expect((await add([ADA], '--allow-erased')).stdout).toContain('1 added, 0 updated, 0 rejected');
    const after = (await stored()).find(({ id }) => id === 'ada-1');
    expect(after?.createdAt).toBeGreaterThan(before?.createdAt ?? 0);
    expect(after?.automation_trigger_id).not.toBe(before?.automation_trigger_id);
    expect((await add([{ ...ADA, firstName: 'Augusta' }])).stdout).toContain(
      '0 added, 1 updated, 0 rejected',
    );
  });
});

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { ExitCode } from '../../src/cli/exit.ts';
import { terminalWithUsers } from '../cli/terminal.ts';

type Shell = Awaited<ReturnType<typeof terminalWithUsers>>;

const lines = (...records: object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');
const lead = (id: string, rest: object = {}) => ({ companyId: 'acme', id, lastName: 'Moreau', ...rest });
const lastLine = (text: string) => text.trim().split('\n').at(-1);

/** The leads of a company as they are stored, oldest first. */
async function storedLeads(shell: Shell, companyId = 'acme') {
  const store = await (await shell.database()).openStore();
  onTestFinished(() => store.close());
  const page = await store.readPage({ scope: { level: 'COMPANY', companyId }, since: 0, limit: 100 });
  return page.leads;
}

test('good leads are added, and the same ones again are updated', async () => {
  const shell = await terminalWithUsers();
  shell.save(
    'leads.ndjson',
    lines(lead('1', { firstName: 'Ada' }), lead('2'), { companyId: 'globex', firstName: 'Bo' }),
  );
  expect(await shell.run('leads import leads.ndjson')).toEqual({
    code: 0,
    stdout: '3 added, 0 updated, 0 rejected\n',
    stderr: 'leads.ndjson has leads without an id. If you import it again, they are added again.\n',
  });
  shell.save('again.ndjson', lines(lead('1', { lastName: 'Moreau' }), lead('3')));
  expect((await shell.run('leads import again.ndjson')).stdout).toBe('1 added, 1 updated, 0 rejected\n');
  const [first] = await storedLeads(shell);
  expect(first).toMatchObject({ id: '1', firstName: 'Ada', lastName: 'Moreau' });
  const [made] = await storedLeads(shell, 'globex');
  expect(made?.id).toMatch(/./);
});

test('a rejected line is reported with all its errors, and valid lines are imported', async () => {
  const shell = await terminalWithUsers();
  const bad = [
    lead('2', { email: 'x', frstName: 'y', statusValue: 'SLEEPING', branchId: 'west' }),
    lead('3', { branchId: 'south', departmentId: 'sales' }),
    { companyId: 'initech', id: '4', email: 'x', statusValue: 'SLEEPING' },
    { id: '5', statusValue: 'SLEEPING' },
  ];
  shell.save('leads.ndjson', `${lines(lead('1'), ...bad)}oops\n${lines(lead('8'))}`);
  const { code, stdout, stderr } = await shell.run('leads import leads.ndjson');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '2 added, 0 updated, 5 rejected\n' });
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^line 2: email: "x" is not an e-mail address/),
    expect.stringMatching(/^line 2: frstName: .* did you mean firstName\?/),
    expect.stringMatching(/^line 2: statusValue: unknown status "SLEEPING"; use one of NEW, .*LOST/),
    'line 2: branchId: unknown branch "west"; create it with leadtap org apply',
    expect.stringMatching(/^line 3: departmentId: department "sales" belongs to branch "north"/),
    expect.stringMatching(/^line 4: email: /),
    'line 4: companyId: unknown company "initech"; create it with leadtap org apply',
    'line 5: companyId: is required; add it',
    expect.stringMatching(/^line 6: is not JSON/),
  ]);
  expect((await storedLeads(shell)).map(({ id }) => id)).toEqual(['1', '8']);
});

test('CSV is recognised by its file name, also when compressed', async () => {
  const shell = await terminalWithUsers();
  const csv =
    'companyId,id,customFields.source,images\nacme,1,"web, mobile",https://a.example/1|https://a.example/2\n';
  shell.save('leads.csv', csv);
  writeFileSync(shell.path('leads.CSV.gz'), gzipSync(csv));
  expect((await shell.run('leads import leads.csv')).stdout).toBe('1 added, 0 updated, 0 rejected\n');
  expect((await shell.run('leads import leads.CSV.gz')).stdout).toBe('0 added, 1 updated, 0 rejected\n');
  const [stored] = await storedLeads(shell);
  expect(stored).toMatchObject({
    customFields: { source: 'web, mobile' },
    images: ['https://a.example/1', 'https://a.example/2'],
  });
});

test('standard input is NDJSON unless --format says otherwise', async () => {
  const shell = await terminalWithUsers();
  const ndjson = await shell.run('leads import -', { stdin: lines(lead('1')) });
  expect(ndjson.stdout).toBe('1 added, 0 updated, 0 rejected\n');
  const csv = await shell.run('leads import - --format csv', {
    stdin: 'companyId,id,firstName\nacme,2,Bo\n',
  });
  expect(csv.stdout).toBe('1 added, 0 updated, 0 rejected\n');
});

test('historical leads keep their createdAt', async () => {
  const shell = await terminalWithUsers();
  shell.save('leads.ndjson', lines(lead('1', { createdAt: '2019-05-06T07:08:09Z' })));
  const asNew = await shell.run('leads import leads.ndjson');
  expect(asNew).toMatchObject({ code: 1, stdout: '0 added, 0 updated, 1 rejected\n' });
  expect(asNew.stderr).toContain(
    'line 1: createdAt: is set by Leadtap for new leads; remove it, or import past leads with --historical',
  );
  expect((await shell.run('leads import leads.ndjson --historical')).stdout).toBe(
    '1 added, 0 updated, 0 rejected\n',
  );
  expect((await storedLeads(shell))[0]?.createdAt).toBe(Date.UTC(2019, 4, 6, 7, 8, 9));
});

test('--json prints the result as one line of JSON', async () => {
  const shell = await terminalWithUsers();
  const { stdout } = await shell.run('leads import - --json', { stdin: lines(lead('1'), {}) });
  expect(stdout).toBe('{"added":1,"updated":0,"rejected":1,"skipped":0}\n');
});

test('--acknowledge prints which lines are saved', async () => {
  const shell = await terminalWithUsers();
  const stdin = lines(...Array.from({ length: 1500 }, (_, index) => lead(`${index}`)));
  const words = await shell.run('leads import - --acknowledge', { stdin });
  expect(words.stdout).toBe('committed 1000\ncommitted 1500\n1500 added, 0 updated, 0 rejected\n');
  const json = await shell.run('leads import - --acknowledge --json', { stdin: lines(lead('1')) });
  expect(json.stdout).toBe('{"committed":1}\n{"added":0,"updated":1,"rejected":0,"skipped":0}\n');
});

test('--skip-lines continues after the saved lines', async () => {
  const shell = await terminalWithUsers();
  shell.save('leads.csv', 'companyId,id,firstName\nacme,1,A\nacme,2,B\nacme,3,C\n');
  const { stdout } = await shell.run('leads import leads.csv --skip-lines 3');
  expect(stdout).toBe('1 added, 0 updated, 0 rejected\n');
  expect((await storedLeads(shell)).map(({ id }) => id)).toEqual(['3']);
});

test('only some rejected lines are shown, and the others counted', async () => {
  const shell = await terminalWithUsers();
  const stdin = lines(...Array.from({ length: 30 }, () => ({})));
  const usual = await shell.run('leads import -', { stdin });
  expect(usual.stderr.match(/^line \d+: /gm)).toHaveLength(20);
  expect(lastLine(usual.stderr)).toContain('10 more lines were rejected');
  const stdinOf21 = lines(...Array.from({ length: 21 }, () => ({})));
  const one = await shell.run('leads import -', { stdin: stdinOf21 });
  expect(lastLine(one.stderr)).toContain('1 more line was rejected');
});

test('an input that is cut off keeps what is saved, and says how to continue', async () => {
  const shell = await terminalWithUsers();
  const text = lines(
    ...Array.from({ length: 4000 }, (_, index) => lead(`${index}`, { phone1: `${index * 7919}` })),
  );
  const whole = gzipSync(text);
  writeFileSync(shell.path('torn.ndjson.gz'), whole.subarray(0, whole.length - 10));
  const { code, stderr } = await shell.run('leads import torn.ndjson.gz');
  expect(code).toBe(1);
  const message =
    /^leadtap: torn\.ndjson\.gz cannot be read to its end: .*\n {2}Everything up to line (\d+) is saved\. To continue, run the same command with --skip-lines \1\./;
  expect(stderr).toMatch(message);
  // At least one full batch. Where batches end depends on how fast the lines arrive.
  const saved = Number(message.exec(stderr)?.[1]);
  expect(saved).toBeGreaterThanOrEqual(1000);
  shell.save('whole.ndjson', text);
  expect((await shell.run(`leads import whole.ndjson --skip-lines ${saved}`)).stdout).toBe(
    `${4000 - saved} added, 0 updated, 0 rejected\n`,
  );
  const store = await (await shell.database()).openStore();
  onTestFinished(() => store.close());
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  expect((await store.readPage({ scope, since: 0, limit: 10_000 })).leads).toHaveLength(4000);
});

test('--rejects creates no file if nothing is rejected, and never overwrites one', async () => {
  const shell = await terminalWithUsers();
  await shell.run('leads import - --rejects wrong.ndjson', { stdin: lines(lead('1')) });
  expect(existsSync(shell.path('wrong.ndjson'))).toBe(false);
  shell.save('wrong.ndjson', 'of yesterday');
  const { code, stderr } = await shell.run('leads import - --rejects wrong.ndjson', { stdin: lines({}) });
  expect(code).toBe(1);
  expect(stderr).toContain('leadtap: wrong.ndjson already exists\n  Name another file for --rejects');
  expect(readFileSync(shell.path('wrong.ndjson'), 'utf8')).toBe('of yesterday');
});

test.each([
  ['leads import nowhere.csv', 1, 'there is no file nowhere.csv'],
  ['leads import folder', 1, 'folder is a folder'],
  ['leads import header.csv/leads.csv', 1, 'header.csv/leads.csv cannot be read (ENOTDIR)'],
  ['leads import torn.ndjson.gz', 1, 'torn.ndjson.gz cannot be read to its end: '],
  [
    'leads import header.csv',
    1,
    'header.csv has a header row that cannot be used; nothing was imported\n  companyId: is missing',
  ],
  [
    'leads import header.csv --rejects no/such/folder',
    1,
    'the rejects file no/such/folder cannot be created (ENOENT)',
  ],
  ['leads import header.csv --format xml', 2, "'xml' is invalid"],
  ['leads import header.csv --skip-lines -1', 2, 'Give a whole number of at least 0.'],
  ['leads import', 2, "missing required argument 'file'"],
])('%s is explained', async (command, code, words) => {
  const shell = await terminalWithUsers();
  mkdirSync(shell.path('folder'));
  shell.save('header.csv', 'id\n1\n');
  writeFileSync(shell.path('torn.ndjson.gz'), gzipSync(lines(lead('1'))).subarray(0, 30));
  const ran = await shell.run(command);
  expect(ran.code).toBe(code);
  expect(ran.stderr).toContain(words);
  expect(ran.stdout).toBe('');
});

test('an interrupt saves the lines read so far, says how to continue, and sets the exit code', async () => {
  const shell = await terminalWithUsers();
  const controller = new AbortController();
  const stdin = new Readable({ read() {} });
  const written: string[] = [];
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      // The pipe stays open: lines are saved although no more come.
      if (written.length === 1) controller.abort();
      done();
    },
  });
  stdin.push(`${lines(lead('1'), lead('2'))}{"companyId":"acme","id":"hal`);
  const parts = { stdin, stdout, signal: controller.signal };
  const { code, stderr } = await shell.run('leads import - --acknowledge', { parts });
  expect(code).toBe(130);
  expect(written.join('')).toBe('committed 2\n2 added, 0 updated, 0 rejected\n');
  expect(stderr).toBe(
    'Interrupted. Everything up to line 2 is saved. To continue, run the same command with --skip-lines 2.\n',
  );
});

test('an import that fails closes a pipe that is still open', async () => {
  const shell = await terminalWithUsers();
  const stdin = new Readable({ read() {} });
  stdin.push(lines(lead('1')));
  const closed = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(closed) });
  stdout.on('error', () => undefined);
  const { code } = await shell.run('leads import - --acknowledge', { parts: { stdin, stdout } });
  expect(code).toBe(141);
  expect(stdin.destroyed).toBe(true);
});

test('an interrupt before anything is saved says so, with the exit code of its signal', async () => {
  const shell = await terminalWithUsers();
  const parts = { stdin: new Readable({ read() {} }), signal: AbortSignal.abort(new ExitCode(143)) };
  const { code, stdout, stderr } = await shell.run('leads import -', { parts });
  expect({ code, stdout }).toEqual({ code: 143, stdout: '0 added, 0 updated, 0 rejected\n' });
  expect(stderr).toBe('Interrupted. Nothing is saved yet. Run the same command again.\n');
});

test('a terminal shows the progress, which is removed at the end', async () => {
  const shell = await terminalWithUsers();
  shell.save('leads.ndjson', lines(lead('1'), {}));
  const { stderr } = await shell.run('leads import leads.ndjson', { isTTY: true });
  const clear = '\r\u001b[K';
  const [words, bar, rest] = stderr.split(clear);
  expect(words).toBe('line 2: companyId: is required; add it\n');
  expect(bar).toMatch(/^100% {2}2 lines {2}1 rejected/);
  expect(rest).toBe('');
});

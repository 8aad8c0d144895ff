import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { sendBody } from '../../../../testing/harness/intake.ts';
import { startService, type TestService } from '../../../../testing/harness/service.ts';
import { main } from '../../../src/cli/main.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { captureStream } from '../../cli/capture-stream.ts';
import { findMarks, writePeople } from '../../erase/support/people.ts';

async function run(argv: readonly string[], { folder, database }: TestService, vacuumWaitMs = 10_000) {
  const [stdout, stderr] = [captureStream(), captureStream()];
  const code = await main(argv, {
    ...{ env: database.env, cwd: folder, stdin: Readable.from([]), stdout, stderr, clock: Date.now },
    signal: new AbortController().signal,
    storeTimeouts: { vacuumWaitMs },
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

test('after leads erase beside a running service, no file, log line or answer contains the persons', async () => {
  const log: string[] = [];
  const service = await startService({ logTo: { write: (line) => void log.push(line) } });
  const people = await writePeople(service.store, 1500);
  const erased = people.filter((_, index) => index % 25 === 0);
  const marks = erased.map(({ mark }) => mark);
  const answers = async () =>
    (
      await Promise.all(['boss', 'rival'].map((user) => service.poll(user, 'since=2000-01-01&limit=100')))
    ).map((response) => response.text());
  expect((await Promise.all(await answers())).join('')).toContain(marks[0]);
  expect(findMarks(service.folder, marks)).not.toEqual([]);

  const argv = ['leads', 'erase', ...erased.flatMap(({ email }) => ['--email', email]), '--yes'];
  const { code, stdout } = await run(argv, service);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '60 leads erased\n' });

  expect(findMarks(service.folder, marks)).toEqual([]);
  const texts = [...(await Promise.all(await answers())), ...log].join('');
  expect(marks.filter((mark) => texts.includes(mark))).toEqual([]);
  // The others are all there.
  const left = readFileSync(join(service.folder, 'leadtap.db'), 'latin1');
  const others = people.filter((person) => !erased.includes(person));
  expect(others.filter(({ mark }) => !left.includes(`${mark}@`))).toEqual([]);
});

test('while a program keeps reading, it says what remains; --vacuum later removes it', async () => {
  const service = await startService();
  const people = await writePeople(service.store, 100);
  const marks = people.map(({ mark }) => mark).slice(0, 1);
  const reader = new Connection(join(service.folder, 'leadtap.db'));
  onTestFinished(() => reader.close());
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM leads').get();

  const erase = ['leads', 'erase', '--email', people[0]?.email ?? '', '--yes'];
  const { code, stdout, stderr } = await run(erase, service, 50);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '1 lead erased\n' });
  expect(stderr).toContain(`${service.folder}/leadtap.db-wal contains the deleted leads`);
  expect(stderr).toContain('Run `leadtap leads erase --vacuum`');
  expect(findMarks(service.folder, marks)).not.toEqual([]);

  reader.exec('COMMIT');
  expect((await run(['leads', 'erase', '--vacuum'], service)).code).toBe(0);
  expect(findMarks(service.folder, marks)).toEqual([]);
});

test('a writer that holds the lock all the time prevents the rewrite, which is reported', async () => {
  const service = await startService();
  const release = await service.database.holdLock('acme');
  const { code, stderr } = await run(['leads', 'erase', '--vacuum'], service, 50);
  await release();
  expect(code).toBe(1);
  expect(stderr).toMatch(/leadtap\.db was not rewritten \(another program holds the lock of the database\)/);
});

test('a lead that is changed is overwritten: its older version is not in the file', async () => {
  const service = await startService();
  const company = { companyId: 'acme', id: 'x' };
  await service.store.writeLeads([{ ...company, fields: { address: 'Secret Street 1' } }]);
  await service.store.writeLeads([{ ...company, fields: { address: 'Elsewhere 2' } }]);
  const connection = new Connection(join(service.folder, 'leadtap.db'));
  onTestFinished(() => connection.close());
  expect(connection.checkpoint()).toBe(true);
  expect(findMarks(service.folder, ['Secret Street'])).toEqual([]);
  expect(findMarks(service.folder, ['Elsewhere 2'])).toHaveLength(1);
});

test('nothing of a refused request remains that named the person', async () => {
  const service = await startService();
  const send = (body: string) => sendBody(service, body);
  // Bodies are stored as base64, and the answer to both is 422.
  const mark = JSON.stringify({ mail: `${'ada@example.com '.repeat(500)}` });
  for (const body of [mark, ...Array.from({ length: 50 }, (_, index) => `{"x":"${index}"}`)])
    await send(body);
  await service.service.refusedLeads.flush();
  const encoded = Buffer.from(mark).toString('base64');
  const pieces = [encoded.slice(0, 60), encoded.slice(3000, 3060), encoded.slice(-60)];
  expect(findMarks(service.folder, pieces)).not.toEqual([]);
  const { code, stdout } = await run(['leads', 'erase', '--email', 'ada@example.com', '--yes'], service);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '0 leads erased\n1 refused request deleted\n' });
  expect(findMarks(service.folder, pieces)).toEqual([]);
  expect(await service.store.refusedLeads.list({ limit: 100 })).toHaveLength(50);
});

import { hash } from 'node:crypto';
import type { RefusedLeadWithBody } from 'leadtap';
import { describe, expect, test } from 'vitest';
import { NOW, terminalWithUsers } from '../cli/terminal.ts';

const DAY_MS = 86_400_000;
const FORM = 'application/x-www-form-urlencoded';

const idOf = (number: number): string => `01994c2e-${number}`;

const refused = (
  number: number,
  text: string,
  rest: Partial<RefusedLeadWithBody> = {},
): RefusedLeadWithBody => {
  const body = Buffer.from(text);
  return {
    ...{
      id: idOf(number),
      companyId: 'acme',
      userId: 'boss',
      tokenId: 'form',
      source: null,
      client: null,
      answerMap: null,
    },
    ...{ timeZone: null, receivedAt: NOW - DAY_MS, lastAt: NOW - 60_000, times: 1, code: 'invalid-lead' },
    ...{ errors: [{ index: 0, field: 'mail', detail: 'is unknown' }], mediaType: 'application/json' },
    ...{ body, bodyHash: hash('sha256', body) },
    ...rest,
  };
};

async function terminalWith(...rows: readonly RefusedLeadWithBody[]) {
  const shell = await terminalWithUsers();
  const database = await shell.database();
  const inStore = async <T>(work: (store: Awaited<ReturnType<typeof database.openStore>>) => Promise<T>) => {
    const store = await database.openStore();
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  await inStore(async (store) => {
    await store.recordTokens([
      { id: 'form', userId: 'boss', name: 'Web form', issuedAt: 0, expiresAt: 1, scopes: ['leads:write'] },
    ]);
    if (rows.length > 0) await store.refusedLeads.record(rows);
  });
  const leads = () => inStore((store) => store.listLeads({ limit: 100 }));
  const held = () =>
    inStore(async (store) => (await store.refusedLeads.list({ limit: 1000 })).map(({ id }) => id));
  const put = (...more: readonly RefusedLeadWithBody[]) =>
    inStore((store) => store.refusedLeads.record(more));
  return { ...shell, leads, held, put, inStore };
}

const MAIL = '{"firstName":"Ada","mail":"ada@example.com"}';

test('list has names of fields and no values; show has the body', async () => {
  const { run } = await terminalWith(
    refused(1, MAIL, { times: 3 }),
    refused(2, '{"x":"\u001b[31m"}', {
      companyId: 'globex',
      userId: 'rival',
      tokenId: null,
      code: 'token-expired',
      errors: [],
    }),
  );
  const list = await run('leads refused list');
  expect(list.stdout.split('\n').map((line) => line.split(/ {2,}/))).toMatchObject([
    ['ID', 'LAST', 'TIMES', 'CONNECTION', 'CODE', 'FIELDS', 'COMPANY'],
    [idOf(1), expect.stringMatching(/ago$/), '3', 'Web form', 'invalid-lead', 'mail', 'acme'],
    [idOf(2), expect.stringMatching(/ago$/), '1', 'rival', 'token-expired', expect.anything(), 'globex'],
    [''],
  ]);
  const json = await run('leads refused list --company acme --json');
  expect(JSON.parse(json.stdout)).toEqual([
    {
      ...{ id: idOf(1), companyId: 'acme', tokenId: 'form', connection: 'Web form', source: null },
      ...{ receivedAt: '2026-03-01T09:30:00.250Z', lastAt: '2026-03-02T09:29:00.250Z', times: 3 },
      ...{ code: 'invalid-lead', errors: [{ index: 0, field: 'mail', detail: 'is unknown' }] },
    },
  ]);
  expect(json.stdout).not.toContain('ada@');
  expect((await run(`leads refused show ${idOf(1)}`)).stdout).toContain(MAIL);
  expect((await run(`leads refused show ${idOf(2)}`)).stdout).not.toContain('\u001b');
  expect(await run('leads refused show 4711')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('leads refused list'),
  });
});

test('list has the questions of a form service, without addresses and numbers', async () => {
  const questions = ['Wie heissen Sie?', 'call 0612345678', 'ada@example.com'];
  const errors = questions.map((field) => ({ index: 0, field, detail: 'is no name' }));
  const { run } = await terminalWith(
    refused(1, '{"a":1}', { code: 'no-contact', source: 'tally', errors }),
    refused(2, '{"b":1}', { code: 'no-contact', errors }),
  );
  const rows = (await run('leads refused list')).stdout.split('\n').map((line) => line.split(/ {2,}/)[5]);
  expect(rows).toEqual(['FIELDS', 'Wie heissen Sie?, other', 'other', undefined]);
});

describe('accept', () => {
  test('stores all leads of a request or none, with --map, and says what to do about the others', async () => {
    const both = '[{"firstName":"Ada","mail":"a@example.com"},{"firstName":"Ben","email":"b@"}]';
    const { run, leads, held } = await terminalWith(
      refused(1, MAIL),
      refused(2, both),
      refused(3, 'firstName=Cy&mail=c%40example.com&appointmentDateTime=2026-04-01+10%3A00', {
        ...{ mediaType: FORM, timeZone: 'Europe/Paris' },
      }),
      refused(4, '{"mail":"held@example.com","email":"x@example.com"}'),
    );
    const accept = ['leads', 'refused', 'accept', '--all', '--map', 'mail=email'];
    const dry = await run([...accept, '--dry-run']);
    expect(dry.code).toBe(1);
    expect(dry.stdout).toContain('"email": "ada@example.com"');
    expect(dry.stdout).toContain('2 requests would be accepted: 2 leads');
    expect([await leads(), await held()]).toMatchObject([[], { length: 4 }]);

    const done = await run(accept);
    expect(done).toMatchObject({ code: 1, stdout: '2 requests accepted: 2 leads\n' });
    expect(done.stderr).toContain(`${idOf(2)}: at least one lead is not valid\n  lead 1: email "b@"`);
    expect(done.stderr).toContain('leadtap leads refused show ID');
    expect(
      (await leads()).map(({ lead }) => [lead['firstName'], lead['email'], lead['appointmentDateTime']]),
    ).toEqual([
      ['Cy', 'c@example.com', Date.parse('2026-04-01T08:00:00Z')],
      ['Ada', 'ada@example.com', null],
    ]);
    expect(await held()).toEqual([idOf(2), idOf(4)]);
  });

  test('--json is one array, with what was added and what was refused again', async () => {
    const { run, leads, held } = await terminalWith(refused(1, MAIL), refused(2, '{"mail":"b@"}'));
    const accept = 'leads refused accept --all --map mail=email --json';
    const again = {
      ...{ id: idOf(2), accepted: false, leads: [], message: 'at least one lead is not valid' },
      errors: [{ index: 0, field: 'email', detail: expect.any(String) }],
    };
    const dry = await run(`${accept} --dry-run`);
    expect([dry.code, JSON.parse(dry.stdout)]).toMatchObject([
      1,
      [{ id: idOf(1), accepted: true, leads: [{ companyId: 'acme', email: 'ada@example.com' }] }, again],
    ]);
    expect([await leads(), await held()]).toMatchObject([[], { length: 2 }]);
    const done = await run(accept);
    const [stored] = await leads();
    expect([done.code, JSON.parse(done.stdout)]).toEqual([
      1,
      [
        {
          ...{ id: idOf(1), accepted: true, leads: [{ id: stored?.lead.id, result: 'added' }] },
          ...{ message: null, errors: [] },
        },
        again,
      ],
    ]);
    expect(JSON.parse((await run(`${accept} --company globex`)).stdout)).toEqual([]);
  });

  test('adds nothing twice: a crash after the write left the row, and the leads have no ids', async () => {
    const row = refused(1, '[{"firstName":"Ada"},{"firstName":"Ben","id":"b"}]', { code: 'token-expired' });
    const { run, leads, held, put, inStore } = await terminalWith(row);
    expect(await run(`leads refused accept ${row.id}`)).toMatchObject({
      code: 0,
      stdout: '1 request accepted: 2 leads\n',
    });
    const before = await leads();
    const acceptAgain = async () => {
      await put(row);
      expect((await run(`leads refused accept ${row.id} --dry-run`)).stdout).toBe(
        '1 request would be accepted: 0 leads\n',
      );
      expect(await run(`leads refused accept ${row.id}`)).toMatchObject({
        code: 0,
        stdout: '1 request accepted: 0 leads\n',
      });
    };
    await acceptAgain();
    expect([await leads(), await held()]).toEqual([before, []]);
    // Also with another access level of the user since.
    await inStore((store) => store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' }));
    await acceptAgain();
    expect(await leads()).toHaveLength(2);
  });

  test('gives people with one id a new one, except for the first', async () => {
    const { run, leads, held } = await terminalWith(
      ...['Ada', 'Ben', 'Cy'].map((name, at) =>
        refused(at + 1, `{"id":"form-8","firstName":"${name}","mail":"${name}@example.com"}`),
      ),
    );
    const done = await run('leads refused accept --all --map mail=email');
    expect(done).toMatchObject({ code: 0, stdout: '3 requests accepted: 3 leads\n' });
    const names = (await leads()).map(({ lead }) => [lead.firstName, lead.id === 'form-8']);
    expect(names).toEqual([
      ['Cy', false],
      ['Ben', false],
      ['Ada', true],
    ]);
    expect(await held()).toEqual([]);
  });

  test('refuses a lead that was changed since', async () => {
    const { run, leads, held, inStore } = await terminalWith(
      refused(1, '{"id":"web-7","firstName":"Ada","mail":"old@example.com"}'),
    );
    await inStore((store) =>
      store.writeLeads([
        { companyId: 'acme', id: 'web-7', fields: { firstName: 'Ada', email: 'new@example.com' } },
      ]),
    );
    const some = await run('leads refused accept --all --map mail=email');
    expect(some).toMatchObject({ code: 1, stdout: '0 requests accepted: 0 leads\n' });
    expect(some.stderr).toContain('lead 0: id is the id of a lead that was changed since');
    expect(await leads()).toMatchObject([{ lead: { email: 'new@example.com' } }]);
    expect(await held()).toHaveLength(1);
  });

  test('places the leads where the user is now, and refuses what lies outside', async () => {
    const { run, leads, inStore } = await terminalWith(
      refused(1, '{"firstName":"Ada"}', { userId: 'seller', tokenId: null }),
      refused(2, '{"firstName":"Ben","branchId":"south"}', { userId: 'seller', tokenId: null }),
    );
    const changes = { accessLevel: 'BRANCH', branchId: 'north', departmentId: null } as const;
    await inStore((store) => store.updateUser('seller', changes));
    expect(await run('leads refused accept --all')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('branchId'),
    });
    expect(await leads()).toMatchObject([{ branchId: 'north', departmentId: null }]);
  });

  const SELLER = { userId: 'seller', tokenId: null };
  const LATER = { lastAt: Date.UTC(2100, 0) };
  test('adds nothing twice: the same row again, with an id of its own', async () => {
    const row = refused(1, '{"id":"b","firstName":"Ben","images":["https://example.com/a.png"]}', {
      code: 'token-expired',
    });
    const { run, leads, held, put } = await terminalWith(row);
    expect(await run('leads refused accept --all')).toMatchObject({ code: 0 });
    const before = await leads();
    await put(row);
    expect(await run('leads refused accept --all')).toMatchObject({
      code: 0,
      stdout: '1 request accepted: 0 leads\n',
    });
    expect([await leads(), await held()]).toEqual([before, []]);
  });

  const AS_REFUSED_AGAIN: readonly (readonly [
    name: string,
    body: string,
    rest: Partial<RefusedLeadWithBody>,
    isAccepted: boolean,
  ])[] = [
    ['an id without content', '{"id":"no-such-lead","email":""}', {}, false],
    ['an id without content, of a lead that exists', '{"id":"in-south"}', LATER, true],
    ['the id of a lead that was erased', '{"id":"erased","firstName":"Ada"}', {}, false],
    ['a place outside of the scope', '{"firstName":"Ben","branchId":"south"}', SELLER, false],
    ['the id of a lead outside of the scope', '{"id":"in-south","firstName":"Ben"}', SELLER, false],
    ['an update', '{"id":"in-south","firstName":"Cy"}', LATER, true],
    ['a key that was used before', '{"firstName":"Cy"}', { code: 'idempotency-key-reused' }, true],
    ['a status that does not exist', '[{"firstName":"Cy"},{"statusValue":"no","lastName":"B"}]', {}, false],
  ];
  test.each(AS_REFUSED_AGAIN)('a dry run says what it does: %s', async (_name, body, rest, isAccepted) => {
    const { run, held, put, inStore } = await terminalWith();
    await inStore(async (store) => {
      const fields = { firstName: 'Ada' };
      await store.writeLeads([
        { companyId: 'acme', id: 'in-south', branchId: 'south', fields },
        { companyId: 'acme', id: 'erased', fields },
      ]);
      const changes = { accessLevel: 'BRANCH', branchId: 'north', departmentId: null } as const;
      await store.updateUser('seller', changes);
    });
    expect((await run('leads erase erased --yes')).code).toBe(0);
    await put(refused(1, body, rest));
    const dry = await run('leads refused accept --all --dry-run');
    expect(await held()).toHaveLength(1);
    const done = await run('leads refused accept --all');
    expect(done.code).toBe(isAccepted ? 0 : 1);
    expect(dry.code).toBe(done.code);
    expect(dry.stdout.endsWith(done.stdout.replace('accepted', 'would be accepted'))).toBe(true);
    expect(dry.stderr).toBe(done.stderr);
  });

  test('runs the token of a form service again, with its map and the new one', async () => {
    const { run, leads } = await terminalWith(
      refused(1, 'Vorname=Ada&Ihr+Dach=flat&Wunsch=soon', {
        ...{
          mediaType: FORM,
          source: 'form',
          answerMap: { Vorname: 'firstName' },
          code: 'insufficient-scope',
        },
      }),
    );
    const { code } = await run([
      'leads',
      'refused',
      'accept',
      '--all',
      '--connection',
      'Web form',
      '--map',
      'Ihr Dach=customFields.roof',
    ]);
    expect(code).toBe(0);
    expect((await leads())[0]?.lead).toMatchObject({
      firstName: 'Ada',
      customFields: { roof: 'flat', Wunsch: 'soon' },
    });
  });
});

test('delete and the selection of requests', async () => {
  const rows = [
    refused(1, MAIL),
    refused(2, 'x', { tokenId: 'b' }),
    refused(3, 'x', { companyId: 'globex', userId: 'rival' }),
  ];
  const { run, held } = await terminalWith(...rows);
  const wrong = [
    'delete',
    'delete --all',
    `delete --all ${idOf(1)} --yes`,
    `accept ${idOf(1)} --connection b`,
    'accept --all --map mail=nothing',
  ];
  for (const line of wrong) expect(await run(`leads refused ${line}`), line).toMatchObject({ code: 2 });
  for (const line of ['delete 4711', 'delete --all --yes --connection c'])
    expect(await run(`leads refused ${line}`), line).toMatchObject({ code: 1 });
  expect(await held()).toHaveLength(3);
  expect(await run('leads refused delete --all --connection b --yes')).toMatchObject({
    stdout: '1 request deleted\n',
  });
  await run('leads refused delete --all --company globex --yes');
  expect(await held()).toEqual([idOf(1)]);
  await run(`leads refused delete ${idOf(1)}`);
  expect(await held()).toEqual([]);
});

const PARTS = 'multipart/form-data; boundary=xyz';
const part = (head: string, value: string): string =>
  `--xyz\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n--xyz--\r\n`;

/** Between the digits of a phone number. */
const SEPARATORS = [
  ...[
    '\u2010',
    '\u2011',
    '\u2013',
    '\u2014',
    '\u2212',
    '\uff0d',
    '\u00b7',
    '\u2022',
    '\u200b',
    '\u00a0',
    '_',
    ',',
  ],
  ...[':', ';', '*', '|', '\\', '/', '.', '~', '\ufeff', '] ['],
];

/** Bodies that name the person, with their media type if it is not JSON, and others that do not. */
const NAMED: readonly (readonly [name: string, body: string, mediaType?: string])[] = [
  ['JSON', '{"mail":"ADA@example.com"}'],
  ['escaped JSON', String.raw`{"mail":"ada\u0040example.com"}`],
  ['a form', 'mail=ada%40example.com&x=1', FORM],
  ['a form as JSON', 'mail=ada%40example.com&x=2'],
  ['JSON in JSON', JSON.stringify({ raw: JSON.stringify({ q: 'é ada@example.com' }) })],
  ['escaped JSON in JSON', String.raw`{"raw":"{\"q\":\"ada\\u0040example.com\"}"}`],
  ['JSON in a form', `raw=${encodeURIComponent('{"q":"ada\\u0040example.com"}')}`, FORM],
  ['an address after a form feed', String.raw`{"mail":"\fada@example.com"}`],
  ['an address in JSON that is cut off', String.raw`{"mail":"\fada@example.com`],
  ['an address as a name', '{"ada@example.com":true}'],
  ['an address in a text', '{"text":"Ada <ada@example.com>, soon"}'],
  ['an address with an apostrophe', `{"text":"write to o'ada@example.com."}`],
  ['a phone number', '{"tel":"+33 (0)6.12-34 56 78"}'],
  ['a phone number in a form', 'tel=0033+6+12+34+56+78', FORM],
  ['a number', '{"tel":33612345678}'],
  ['a number with an exponent', '{"tel":3.3612345678e10}'],
  ['a phone number with words', '{"tel":"+33 6 12 then 34 56 78"}'],
  ['a phone number before another number', '{"text":"call +33 (0)6 12 34 56 78 2 times"}'],
  ['an id', '{"id":"L-4711"}'],
  ['an id after spaces', `{"id":${' '.repeat(40)}"L-4711"}`],
  ['an id in JSON that is cut off', `{"id":${' '.repeat(40)}"L-4711"`],
  ['escaped JSON with an id', String.raw`{"\u0069d":"L-47\u0031\u0031"}`],
  ['the id of a submission', '{"data":{"responseId" : "L-4711"}}'],
  ['ids in a list', '{"ids":["L-4710","L-4711"]}'],
  ['an answer with a label', '{"fields":[{"label":"Lead ID","value":"L-4711"}]}'],
  ['an id in a part of a form', part('name="id"', 'L-4711'), PARTS],
  ['a part with a type', part('name="id"\r\nContent-Type: text/plain', 'L-4711'), PARTS],
  ...SEPARATORS.flatMap((separator): [string, string, string?][] => {
    const tel = ['+33 6', '12', '34', '56', '78'].join(separator);
    return [
      [`a number with ${JSON.stringify(separator)}`, JSON.stringify({ tel })],
      [`a text with ${JSON.stringify(separator)}`, JSON.stringify({ text: `call ${tel} at 9 h` })],
      [`a form with ${JSON.stringify(separator)}`, `tel=${encodeURIComponent(tel)}`, FORM],
    ];
  }),
];
const UNNAMED: readonly (readonly [body: string, mediaType?: string])[] = [
  ['{"mail":"hada@example.com"}'],
  ['{"mail":"ada@example.com.au"}'],
  ['{"mail":"ada@example"}'],
  ['{"tel":"+33 6 12 34 56 79"}'],
  ['{"tel":"+33 6 12 34 56 789"}'],
  ['{"text":"order 9933612345678"}'],
  ['{"numbers":[33,612,345,678]}'],
  ['{"postalCode":"L-4711"}'],
  ['{"id":"L-47110"}'],
  [part('name="postalCode"\r\nContent-Type: text/plain', 'L-4711'), PARTS],
];

const rowsOf = (bodies: readonly (readonly [body: string, mediaType?: string])[], first: number) =>
  bodies.map(([body, mediaType = 'application/json'], index) => refused(first + index, body, { mediaType }));

test('leads erase finds and deletes the bodies that name a person', async () => {
  const named = rowsOf(
    NAMED.map(([, ...rest]) => rest),
    100,
  );
  const { run, held, put } = await terminalWith(...named, ...rowsOf(UNNAMED, 500));
  const person = [
    ...['--email', 'Ada@Example.com', '--email', "o'ada@example.com"],
    ...['--phone', '+33 6 12 34 56 78', 'L-4711'],
  ];
  const dry = await run(['leads', 'erase', ...person, '--dry-run', '--json']);
  const { leads, refused: found } = JSON.parse(dry.stdout) as { leads: unknown; refused: { id: string }[] };
  const ids = new Set(found.map(({ id }) => id));
  expect(leads).toEqual([]);
  expect(NAMED.filter((_, index) => !ids.has(idOf(100 + index)))).toEqual([]);
  expect(UNNAMED.filter((_, index) => ids.has(idOf(500 + index)))).toEqual([]);
  expect(await run(['leads', 'erase', ...person, '--yes'])).toMatchObject({
    code: 0,
    stdout: `0 leads erased\n${NAMED.length} refused requests deleted\n`,
  });
  expect(await held()).toEqual(UNNAMED.map((_, index) => idOf(500 + index)));
  expect((await run(['leads', 'erase', ...person, '--yes'])).code).toBe(1);
  await put(refused(800, NAMED[0]?.[1] ?? ''));
  expect((await run('leads erase --email ada@example.com --company globex --yes')).code).toBe(1);
});

test('leads erase searches for the addresses and phone numbers of the leads that it erases, in their company', async () => {
  const { run, held, inStore } = await terminalWith(
    refused(1, '{"mail":"ZZ9@example.com"}'),
    refused(2, '{"tel":"00 49 30 | 12 34 56"}'),
    refused(3, '{"tel":"+49 40 999 888"}'),
    refused(4, '{"mail":"zz8@example.com"}'),
    refused(5, '{"mail":"zz9@example.com"}', { companyId: 'globex', userId: 'rival' }),
    refused(6, '{"ref":"L-77"}', { source: 'form', answerMap: { ref: 'id' } }),
    refused(7, '{"zip":"L-77"}', { source: 'form', answerMap: { ref: 'id' } }),
  );
  const leads = [
    { id: 'zz9', fields: { email: 'zz9@example.com', phone1: '+49 30 123456', phone2: '112' } },
    { id: 'zz8', fields: { email: 'other@example.com', phone2: '+49 40 999888' } },
  ];
  await inStore((store) =>
    store.writeLeads(
      leads.map((lead) => ({ companyId: 'acme', createdAt: NOW - DAY_MS, ...lead })),
      { historical: true },
    ),
  );
  expect(await run('leads erase zz9 --yes')).toMatchObject({
    stdout: '1 lead erased\n2 refused requests deleted\n',
  });
  expect(await held()).toEqual([3, 4, 5, 6, 7].map(idOf));
  expect(await run('leads erase --email other@example.com --yes')).toMatchObject({
    stdout: '1 lead erased\n1 refused request deleted\n',
  });
  // The token says that this name is the id.
  expect(await run('leads erase L-77 --yes')).toMatchObject({
    stdout: '0 leads erased\n1 refused request deleted\n',
  });
  expect(await held()).toEqual([4, 5, 7].map(idOf));
});

test('leads prune and the removal of a user delete rows', async () => {
  const old = { receivedAt: NOW - 20 * DAY_MS };
  const { run, held } = await terminalWith(
    refused(1, 'a', old),
    refused(2, 'b'),
    refused(3, 'c', { userId: 'seller', tokenId: null }),
    refused(4, 'd', { ...old, companyId: 'globex', userId: 'rival' }),
  );
  const dry = await run('leads prune --older-than 10d --dry-run');
  expect(dry.stdout).toMatch(/0 leads and 2 refused requests from before \S+; nothing was deleted\n$/);
  expect(await held()).toHaveLength(4);
  expect(await run('leads prune --older-than 10d --company acme --yes')).toMatchObject({
    stdout: '0 leads deleted\n1 refused request deleted\n',
  });
  const json = await run('leads prune --older-than 10d --company globex --dry-run --json');
  expect(JSON.parse(json.stdout)).toMatchObject({ pruned: 0, older: 0, refused: 1 });
  expect(await held()).toEqual([idOf(2), idOf(3), idOf(4)]);
  expect((await run('user remove seller')).stdout).toMatch(
    /^1 refused request was held: deleted with the user\.$/m,
  );
  expect(await held()).toEqual([idOf(2), idOf(4)]);
});

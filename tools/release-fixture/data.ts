/** Fills a database with every kind of data, and notes what the program says about it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Answer, HOOK_HOST, type Program } from './program.ts';

const user = (id: string, plan: string, accessLevel: string, place: object = {}) => ({
  id,
  email: `${id}@example.com`,
  name: `User ${id}`,
  plan,
  accessLevel,
  ...place,
});

const ORGANISATION = {
  companies: [
    {
      id: 'soleil',
      name: 'Soleil Toitures é',
      statuses: [
        { value: 'NEW', label: 'Nouveau', color: '#2563eb', final: false },
        { value: 'SIGNED', label: 'Signé', color: '#16a34a', final: true },
        { value: 'LOST', label: 'Perdu', color: '#dc2626', final: true },
      ],
      branches: [
        {
          id: 'lyon',
          name: 'Lyon',
          departments: [
            { id: 'repairs', name: 'Repairs' },
            { id: 'solar', name: 'Solar' },
          ],
        },
        { id: 'lille', name: 'Lille', departments: [] },
      ],
      users: [
        user('ada', 'PROFESSIONAL', 'COMPANY'),
        user('ben', 'PROFESSIONAL', 'BRANCH', { branchId: 'lyon' }),
        user('cleo', 'PROFESSIONAL', 'DEPARTMENT', { branchId: 'lyon', departmentId: 'solar' }),
        user('dan', 'STARTER', 'COMPANY'),
        user('eve', 'ENTERPRISE', 'BRANCH', { branchId: 'lille' }),
        user('removed', 'PROFESSIONAL', 'COMPANY'),
      ],
    },
    {
      id: 'globex',
      name: 'Globex',
      branches: [{ id: 'lyon', name: 'Lyon', departments: [{ id: 'solar', name: 'Solar' }] }],
      users: [
        user('rival', 'PROFESSIONAL', 'COMPANY'),
        user('rival-lyon', 'PROFESSIONAL', 'BRANCH', { branchId: 'lyon' }),
      ],
    },
    { id: 'empty', name: 'Empty', branches: [], users: [user('idle', 'PROFESSIONAL', 'COMPANY')] },
  ],
};

const FULL_LEAD = {
  companyId: 'soleil',
  branchId: 'lyon',
  departmentId: 'solar',
  id: 'full-1',
  firstName: 'Zoë',
  lastName: "O'Neill",
  fullName: "Zoë O'Neill 🏠",
  phone1: '+33 6 12 34 56 78',
  phone2: '04 78 00 00 00 ext. 7',
  email: 'zoe@example.com',
  address: '1 rue de l’Église, Lyon',
  postalCode: '69001',
  addressNotes: 'Second floor\nring twice',
  appointmentDateTime: '2026-05-17T10:00:00.250Z',
  timeslot: '10:30',
  statusValue: 'SIGNED',
  customFields: { roof: 'flat', area: 120.5, nested: { list: [1, null, 'x'], deep: { ok: true } } },
  images: ['https://images.example.com/1.jpg', 'https://images.example.com/2.jpg'],
  sameDay: true,
};

const PLACES = [
  {},
  { branchId: 'lyon' },
  { branchId: 'lyon', departmentId: 'repairs' },
  { branchId: 'lyon', departmentId: 'solar' },
  { branchId: 'lille' },
];

/** More than a page. */
const LEADS = [
  FULL_LEAD,
  { companyId: 'soleil', id: 'minimal-1', fullName: 'M' },
  ...Array.from({ length: 110 }, (_, index) => ({
    companyId: 'soleil',
    ...PLACES[index % PLACES.length],
    id: `lead-${index}`,
    fullName: `Lead ${index}`,
    email: `lead-${index}@example.com`,
    customFields: { index },
  })),
  ...['lead-0', 'lead-1', 'lead-2'].map((id) => ({
    companyId: 'globex',
    branchId: 'lyon',
    id,
    fullName: `Globex ${id}`,
  })),
];

const HISTORY = Array.from({ length: 5 }, (_, index) => ({
  companyId: 'soleil',
  id: `history-${index}`,
  fullName: `Old lead ${index}`,
  createdAt: `2024-0${index + 1}-01T12:00:00.00${index}Z`,
}));

const UPDATE = {
  companyId: 'soleil',
  id: 'lead-7',
  statusValue: 'LOST',
  phone1: null,
  address: '2 rue Neuve',
};

/** A lead of a request with an `Idempotency-Key` gets its id from the key. */
export const SENT = {
  path: '/leads',
  options: {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'order-4711' },
    body: JSON.stringify([{ fullName: 'Sent 1' }, { fullName: 'Sent 2', branchId: 'lyon' }]),
  },
};

interface Token {
  readonly tokenId: string;
  readonly token: string;
}

export interface Expectations {
  /** By the name of the token. */
  readonly tokens: Readonly<Record<string, Token>>;
  readonly answers: readonly ({ readonly token: string; readonly path: string } & Answer)[];
  /** The response to `SENT`, with the token `sender`. */
  readonly sent: Answer;
  readonly organisation: unknown;
  readonly issuedTokens: unknown;
  readonly consumers: unknown;
}

const POLL = '/automation/new-leads';

export async function fillDatabase(program: Program, folder: string): Promise<Expectations> {
  const write = async (name: string, content: unknown) => {
    await writeFile(join(folder, name), JSON.stringify(content));
    return name;
  };
  await program.run('org', 'apply', await write('organisation.json', ORGANISATION));
  await program.run('leads', 'import', '--yes', '--historical', await write('history.json', HISTORY));
  await program.run('leads', 'import', '--yes', await write('leads.json', LEADS));
  await program.run('leads', 'import', '--yes', await write('update.json', [UPDATE]));
  await program.run('leads', 'erase', '--yes', '--company', 'soleil', 'lead-3', 'lead-4');

  const tokens: Record<string, Token> = {};
  const issue = async (name: string, userId: string, ...options: readonly string[]) => {
    const argv = ['--user', userId, '--name', name, '--expires-in', '10y', '--json', ...options];
    tokens[name] = JSON.parse(await program.run('token', 'issue', ...argv));
  };
  const names = ['ada', 'ben', 'cleo', 'dan', 'eve', 'removed', 'rival', 'rival-lyon', 'idle'];
  for (const name of names) await issue(name, name);
  await issue('ada-second', 'ada');
  await issue('sender', 'ada', '--scope', 'leads:write');
  await issue('both', 'ben', '--scope', 'leads:read', '--scope', 'leads:write');
  await issue('revoked', 'ada');
  const token = (name: string) => tokens[name]?.token ?? '';

  const answers: Expectations['answers'][number][] = [];
  const ask = async (name: string, path: string) => {
    answers.push({ token: name, path, ...(await program.request(path, token(name))) });
    return answers.at(-1);
  };
  const sent = await program.serve(async () => {
    const answer = await program.request(SENT.path, token('sender'), SENT.options);
    // Three pages for ada; the other clients stop after the first one.
    let next = (await ask('ada', `${POLL}?since=1970-01-01&limit=50`))?.next;
    for (let page = 0; page < 2; page += 1) next = (await ask('ada', next ?? ''))?.next;
    for (const name of ['ben', 'cleo', 'rival', 'rival-lyon', 'idle', 'both'])
      await ask(name, `${POLL}?since=1970-01-01`);
    await ask('ada-second', POLL);
    await program.run('token', 'revoke', tokens['revoked']?.tokenId ?? '');
    await program.run('user', 'remove', 'removed');
    for (const name of ['dan', 'eve', 'removed', 'revoked', 'sender']) await ask(name, POLL);
    const hook = await program.request('/automation/hooks', token('rival'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ url: `${HOOK_HOST}/hook` }),
    });
    await ask('rival', `/automation/hooks/${JSON.parse(hook.body).id}`);
    return answer;
  });
  const read = async (...argv: readonly string[]) => JSON.parse(await program.run(...argv));
  return {
    tokens,
    answers,
    sent,
    organisation: await read('org', 'export'),
    issuedTokens: await read('token', 'list', '--user', 'ada', '--json'),
    consumers: await read('consumers', '--json'),
  };
}

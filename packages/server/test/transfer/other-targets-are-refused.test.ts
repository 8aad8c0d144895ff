import { describe, expect, it } from 'vitest';
import { runMove } from './commands.ts';
import type { Endpoints } from './endpoints.ts';
import { makeFilledEndpoints } from './filled.ts';

const everything = ({ sql }: Endpoints) =>
  sql(`SELECT (SELECT json_agg(c) FROM leadtap.companies AS c) AS companies,
              (SELECT json_agg(u ORDER BY u.id) FROM leadtap.users AS u) AS users,
              (SELECT json_agg(l ORDER BY l.company_id, l.created_at) FROM leadtap.leads AS l) AS leads`);

/** Changes that the new service may have made since the move. */
const CHANGES: [what: string, sql: string, named: RegExp][] = [
  [
    'a new lead',
    `INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'new')`,
    /leads \{"company_id":"acme","created_at":\d+,"id":"new"\}/,
  ],
  [
    'a lead that was changed',
    `UPDATE leadtap.leads SET first_name = 'Eve' WHERE company_id = 'acme' AND id = 'lead-1'`,
    /leads \{"company_id":"acme","created_at":\d+,"id":"lead-1"\}/,
  ],
  [
    'a company',
    `INSERT INTO leadtap.companies (id, name) VALUES ('initech', 'I')`,
    /companies \{"id":"initech"\}/,
  ],
  [
    'a company with another name',
    `UPDATE leadtap.companies SET name = 'A' WHERE id = 'acme'`,
    /companies \{"id":"acme"\}/,
  ],
  [
    'a user on another plan',
    `UPDATE leadtap.users SET plan = 'FREE' WHERE id = 'boss'`,
    /users \{"id":"boss"\}/,
  ],
  [
    'a revocation',
    `INSERT INTO leadtap.revoked_tokens VALUES ('token-1', now())`,
    /revoked_tokens \{"token_id":"token-1"\}/,
  ],
];

describe('a target with data that the source does not have', () => {
  it.each(CHANGES)('is refused and not changed: %s', async (_what, sql, named) => {
    const endpoints = await makeFilledEndpoints();
    expect((await runMove(endpoints)).code).toBe(0);
    await endpoints.sql(sql);
    const before = await everything(endpoints);
    const { code, stdout, stderr } = await runMove(endpoints);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^leadtap: postgres:.* holds data that .*leadtap\.db does not; nothing was copied$/m,
    );
    expect(stderr).toMatch(named);
    expect(await everything(endpoints)).toEqual(before);
  });
});

it('a complete move can be run again and changes only the minimum stamps', async () => {
  const endpoints = await makeFilledEndpoints();
  const first = await runMove(endpoints, '--json');
  const before = await endpoints.sql('SELECT * FROM leadtap.leads ORDER BY company_id, created_at');
  const second = await runMove(endpoints, '--json');
  expect(second).toEqual(first);
  expect(await endpoints.sql('SELECT * FROM leadtap.leads ORDER BY company_id, created_at')).toEqual(before);
});

import { describe, expect, it } from 'vitest';
import { moveUp } from './commands.ts';
import type { Ends } from './ends.ts';
import { makeFilledEnds } from './filled.ts';

const everything = ({ sql }: Ends) =>
  sql(`SELECT (SELECT json_agg(c) FROM leadtap.companies AS c) AS companies,
              (SELECT json_agg(u ORDER BY u.id) FROM leadtap.users AS u) AS users,
              (SELECT json_agg(l ORDER BY l.company_id, l.created_at) FROM leadtap.leads AS l) AS leads`);

/** What the new service may have done since the move. */
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

describe('a target that holds what the source does not', () => {
  it.each(CHANGES)('is refused and left as it is: %s', async (_what, sql, named) => {
    const ends = await makeFilledEnds();
    expect((await moveUp(ends)).code).toBe(0);
    await ends.sql(sql);
    const before = await everything(ends);
    const { code, stdout, stderr } = await moveUp(ends);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^leadtap: postgres:.* holds data that .*leadtap\.db does not; nothing was copied$/m,
    );
    expect(stderr).toMatch(named);
    expect(await everything(ends)).toEqual(before);
  });
});

it('a move that is complete can be run again, and changes no row but the earliest time of new leads', async () => {
  const ends = await makeFilledEnds();
  const first = await moveUp(ends, '--json');
  const before = await ends.sql('SELECT * FROM leadtap.leads ORDER BY company_id, created_at');
  const second = await moveUp(ends, '--json');
  expect(second).toEqual(first);
  expect(await ends.sql('SELECT * FROM leadtap.leads ORDER BY company_id, created_at')).toEqual(before);
});

import { expect, it } from 'vitest';
import { createConsumerStore } from '../../../src/consumers/sql.ts';
import { summary } from '../../consumers/support/consumers.ts';
import { makeExplainedDatabase } from './explained-database.ts';

const CONSUMERS = 20_000;

/** With statistics, the planner would prefer joins that read all users for each page. */
it('a page of consumers reads as many users as it has consumers, wherever it begins', async () => {
  const { client, plans, explain } = await makeExplainedDatabase();
  await client.query(`
    INSERT INTO leadtap.users (id, company_id, plan, access_level)
    SELECT 'u' || n, 'acme', 'PROFESSIONAL', 'COMPANY' FROM generate_series(0, ${CONSUMERS / 2}) AS n`);
  await client.query(`
    INSERT INTO leadtap.consumers (user_id, token_id, first_poll_at, last_poll_at, last_status, polls)
    SELECT 'u' || (n / 2 + 1), 't' || n, now(), now(), 200, 1 FROM generate_series(1, ${CONSUMERS}) AS n`);
  await client.query('VACUUM ANALYZE');
  const { list } = createConsumerStore(await explain());
  // The planner's choice depends on the number of consumers that it expects to follow.
  for (const userId of ['u1', 'u2', 'u3', 'u35', 'u4', 'u45', 'u6', 'u8', 'u97']) {
    plans.length = 0;
    const after = { userId, tokenId: '' };
    expect(await list({ after, limit: 200, maxPendingLeads: 1, now: Date.now() })).toHaveLength(200);
    const plan = plans.find((text) => / on consumers\b/.test(text)) ?? '';
    expect(plan).toMatch(/ on users u(_1)? .*\(actual rows=1 loops=\d+\)/);
    expect(plan).toMatch(/ on consumers c(_1)? .*\(actual rows=20[01] loops=1\)/);
  }
});

it('the history that a user got is looked for in its own index, whatever is stored', async () => {
  const { client, plans, explain } = await makeExplainedDatabase();
  await client.query(
    `INSERT INTO leadtap.leads (company_id, id) SELECT 'acme', n FROM generate_series(1, 20000) AS n`,
  );
  await client.query('VACUUM ANALYZE');
  const { findReceivedHistory, record } = createConsumerStore(await explain());
  expect(await findReceivedHistory({ id: 'boss', companyId: 'acme' }, 100)).toEqual([]);
  expect(plans.find((text) => / on leads\b/.test(text))).toMatch(/leads_of_history/);
  plans.length = 0;
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  const createdAt = Array.from({ length: 100 }, (_, index) => Date.now() - index);
  await record([summary('boss', 'a', { scope, sentPages: [{ scope, createdAt }] })]);
  const plan = plans.find((text) => / on leads\b/.test(text));
  expect(plan).toMatch(/leads_of_history/);
  expect(plan).not.toMatch(/ on (leads|moved_leads)\b[^\n]*\(actual rows=[1-9]/);
});

/** The stores whose statements both databases run. What polls and writes of leads need is written for each of them. */
import { createAccountStore } from '../accounts/sql.ts';
import { createAccountEnds } from '../connections/ends-sql.ts';
import { createConnectionStore, createRemovalRecords } from '../connections/sql.ts';
import { createHookStore } from '../hooks/sql.ts';
import { createRefusedLeadStore } from '../intake/refused-sql.ts';
import type { LeadRecord } from '../leads/record.ts';
import type { LeadRemoval } from '../leads/removal.ts';
import { createRemoval } from '../leads/removal-sql.ts';
import type { StoredLeadRow } from '../leads/row.ts';
import { createLeadLists } from '../leads/sql.ts';
import type { SqlDatabase } from '../sql/sql.ts';

/** `decode` reads a lead as the database has it. */
export const createSqlStores = (
  sql: SqlDatabase,
  decode: (row: StoredLeadRow) => LeadRecord,
  vacuum: LeadRemoval['vacuum'],
) => ({
  ...createAccountStore(sql, createAccountEnds(sql.dialect)),
  ...createLeadLists(sql, decode),
  connections: createConnectionStore(sql),
  hooks: createHookStore(sql, decode),
  refusedLeads: createRefusedLeadStore(sql),
  removal: createRemoval(sql, vacuum, createRemovalRecords(sql.dialect)),
});

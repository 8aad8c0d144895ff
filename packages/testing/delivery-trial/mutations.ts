/**
 * Deliberate defects, made in a database of the trial, to show that the trial detects them. A mutation replaces parts of
 * functions: when a function changes, adapt them here.
 */
import { withClient } from './postgres/with-client.ts';
import { withDatabase } from './sqlite/database.ts';

/** A part of a definition, which must occur once, and its replacement. */
type Replacement = readonly [part: string | RegExp, by: string];

interface Change {
  readonly routine: string;
  readonly replace: readonly Replacement[];
}

interface Mutation {
  readonly changes?: readonly Change[];
  readonly also?: string;
}

const BEFORE_INSERT = 'leadtap.leads_before_insert()';
const READ_PAGE = 'leadtap.read_page(text,text,text,bigint,integer,integer)';
const LOG_CHANGED_LEADS = 'leadtap.log_change_leads()';

const WRITER_LOCK =
  'PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(NEW.company_id));';
const POLL_LOCK = 'pg_try_advisory_xact_lock_shared(leadtap.lock_class(), leadtap.company_lock(company))';

export const POSTGRES_MUTATIONS = {
  /** Leads are stamped with the clock when they are inserted, and polls read without the lock. */
  'clock-stamps': {
    changes: [
      {
        routine: BEFORE_INSERT,
        replace: [
          [WRITER_LOCK, ''],
          ['writer IS DISTINCT FROM pg_current_xact_id() OR', 'false AND'],
          ['now_ms := greatest(now_ms, leadtap.to_ms(last)) + 1;', ''],
        ],
      },
      { routine: READ_PAGE, replace: [[POLL_LOCK, 'true']] },
    ],
    // Two leads may have the same time.
    also: `ALTER TABLE leadtap.leads DROP CONSTRAINT leads_pkey;
           CREATE INDEX ON leadtap.leads (company_id, created_at)`,
  },
  'no-writer-lock': { changes: [{ routine: BEFORE_INSERT, replace: [[WRITER_LOCK, '']] }] },
  'no-poll-lock': { changes: [{ routine: READ_PAGE, replace: [[POLL_LOCK, 'true']] }] },
  /** The page is read in a snapshot from before the lock. */
  'early-snapshot': { also: `ALTER FUNCTION ${READ_PAGE} STABLE` },
  /** Polls without the lock answer with the time of the clock. */
  'clock-date': {
    changes: [
      {
        routine: READ_PAGE,
        replace: [[/read_at := least\(.*\);/, 'read_at := leadtap.clock_ms();']],
      },
    ],
  },
  /** An insert of an id that existed when the statement began is an update, also if that lead is deleted meanwhile. */
  'lost-reinsert': {
    also: `
      CREATE FUNCTION public.lose_reinsert() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM leadtap.leads AS l WHERE l.company_id = NEW.company_id AND l.id = NEW.id) THEN
          UPDATE leadtap.leads AS l SET first_name = NEW.first_name, branch_id = NEW.branch_id, department_id = NEW.department_id
           WHERE l.company_id = NEW.company_id AND l.id = NEW.id;
          RETURN NULL;
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER a_lose_reinsert BEFORE INSERT ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION public.lose_reinsert()`,
  },
  /** Changed and deleted leads stay in the caches of the instances. */
  'no-change-log': {
    changes: [{ routine: LOG_CHANGED_LEADS, replace: [[/PERFORM leadtap\.\w+\('company'.*;/, '']] }],
  },
} satisfies Record<string, Mutation>;

export const SQLITE_MUTATIONS = {
  /** Changed and deleted leads stay in the caches of the instances. */
  'no-change-log': ['DROP TRIGGER log_change_of_lead', 'DROP TRIGGER log_delete_of_lead'],
  /** The last stamp of a company is forgotten, so stamps follow the clock alone. */
  'clock-stamps': [
    `CREATE TRIGGER forget_stamp AFTER UPDATE OF last_stamp ON companies
     BEGIN UPDATE companies SET last_stamp = 0 WHERE id = NEW.id; END`,
  ],
} satisfies Record<string, readonly string[]>;

export type PostgresMutation = keyof typeof POSTGRES_MUTATIONS;
export type SqliteMutation = keyof typeof SQLITE_MUTATIONS;

export async function mutatePostgres(url: string, name: PostgresMutation): Promise<void> {
  const { changes = [], also = '' }: Mutation = POSTGRES_MUTATIONS[name];
  await withClient(url, async (client) => {
    for (const { routine, replace } of changes) {
      const { rows } = await client.query('SELECT pg_get_functiondef($1::regprocedure) AS text', [routine]);
      await client.query(replace.reduce(replaceOnce, String(rows[0]?.text)));
    }
    await client.query(also);
  });
}

export const mutateSqlite = (file: string, name: SqliteMutation): Promise<void> =>
  withDatabase(file, (database) => {
    for (const statement of SQLITE_MUTATIONS[name]) database.exec(statement);
  });

function replaceOnce(text: string, [part, by]: Replacement): string {
  if (text.split(part).length !== 2)
    throw new Error(`the mutation does not fit the schema: not once in the definition: ${part}`);
  return text.replace(part, by);
}

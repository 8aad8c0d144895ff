/** What ordinary services do instead, put into a database of the test's own, to show that the trial sees it. */
import { withClient } from './with-client.ts';

/** A part of a definition, which must be there once, and what comes in its place. */
type Replacement = readonly [part: string | RegExp, by: string];

interface Change {
  readonly routine: string;
  readonly replace: readonly Replacement[];
}

interface Weakness {
  readonly changes: readonly Change[];
  readonly also?: string;
}

const TAKE_IN = 'leadtap.leads_before_insert()';
const READ_PAGE = 'leadtap.read_page(text,text,text,bigint,integer,integer)';

const WRITER_LOCK =
  'PERFORM pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock(NEW.company_id));';
const POLL_LOCK = 'pg_try_advisory_xact_lock_shared(leadtap.lock_class(), leadtap.company_lock(company))';

export const WEAKNESSES = {
  /** Leads are stamped with the clock when they are inserted, and polls read what is committed. */
  'stamps by the clock alone': {
    changes: [
      {
        routine: TAKE_IN,
        replace: [
          [WRITER_LOCK, ''],
          ['writer IS DISTINCT FROM pg_current_xact_id()', 'false'],
          ['now_ms := greatest(now_ms, leadtap.to_ms(last)) + 1;', ''],
        ],
      },
      { routine: READ_PAGE, replace: [[POLL_LOCK, 'true']] },
    ],
    // Two leads may have the same time.
    also: `ALTER TABLE leadtap.leads DROP CONSTRAINT leads_pkey;
           CREATE INDEX ON leadtap.leads (company_id, created_at)`,
  },
  'writers without the lock': {
    changes: [{ routine: TAKE_IN, replace: [[WRITER_LOCK, '']] }],
  },
  'polls without the lock': {
    changes: [{ routine: READ_PAGE, replace: [[POLL_LOCK, 'true']] }],
  },
  'a page that is read in a snapshot from before the lock': {
    changes: [],
    also: `ALTER FUNCTION ${READ_PAGE} STABLE`,
  },
  'polls that do without the lock but answer with the clock': {
    changes: [
      {
        routine: READ_PAGE,
        replace: [[/read_at := least\(.*\);/, 'read_at := leadtap.clock_ms();']],
      },
    ],
  },
} satisfies Record<string, Weakness>;

export type WeaknessName = keyof typeof WEAKNESSES;

export async function weaken(databaseUrl: string, name: WeaknessName): Promise<void> {
  const { changes, also = '' }: Weakness = WEAKNESSES[name];
  await withClient(databaseUrl, async (client) => {
    for (const { routine, replace } of changes) {
      const { rows } = await client.query('SELECT pg_get_functiondef($1::regprocedure) AS text', [routine]);
      await client.query(replace.reduce(replaceOnce, String(rows[0]?.text)));
    }
    await client.query(also);
  });
}

function replaceOnce(text: string, [part, by]: Replacement): string {
  if (text.split(part).length !== 2) throw new Error(`not once in the definition: ${part}`);
  return text.replace(part, by);
}

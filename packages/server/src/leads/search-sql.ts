/** The search for leads in a database, newest first. */

import { MAX_SEARCH_LENGTH } from '@leadtap/contract';
import { takeTurn } from '../event-loop.ts';
import {
  AFTER_ALL_MS,
  BEFORE_ALL_TIMES,
  type Dialect,
  isStorable,
  query,
  type SqlDatabase,
  type SqlTask,
} from '../store/sql.ts';
import type { LeadScope, StoredLead } from './record.ts';
import type { StoredLeadRow } from './row.ts';
import { createLeadMatcher, type LeadMatcher } from './search.ts';
import type { LeadStore } from './store.ts';

/**
 * A search ends when it has compared so many leads, and the next one continues. It ends earlier the more text leaves the database:
 * texts that are not ASCII are compared here, and 20 characters take as long as a lead that stays there. Together at most 50 ms.
 */
const MAX_LEADS = 15_000;
const MAX_COST = 30_000;
const CHARACTERS_PER_COST = 20;
/** Found leads are read in parts, because a lead may have 100 kB. */
const LEADS_PER_PART = 25;

/** The place that narrows each level; the index has the leads of a place in the order of time. */
const LEVELS = {
  COMPANY: { column: 'company_id', index: undefined },
  BRANCH: { column: 'branch_id', index: 'leads_by_branch' },
  DEPARTMENT: { column: 'department_id', index: 'leads_by_department' },
} as const satisfies Record<LeadScope['level'], object>;

function placeOf(scope: LeadScope): string {
  switch (scope.level) {
    case 'COMPANY':
      return scope.companyId;
    case 'BRANCH':
      return scope.branchId;
    case 'DEPARTMENT':
      return scope.departmentId;
  }
}

/** The beginnings of texts in one text, without those that are null. */
const joinTexts = (separator: string, ...columns: readonly string[]): string =>
  `concat_ws('${separator}', ${columns.map((column) => `substr(l.${column}, 1, ${MAX_SEARCH_LENGTH})`).join(', ')})`;

const TEXT = `concat_ws('\n', l.id, ${joinTexts('\n', 'full_name')}, ${joinTexts(' ', 'first_name', 'last_name')},
  ${joinTexts('\n', 'email', 'phone1', 'phone2')})`;
const PHONES = joinTexts('\n', 'phone1', 'phone2');

/** More than there are. A limit keeps both databases from computing an expression once for each use. */
const NO_LIMIT = 1_000_000_000;

/** The first three values: company, place, time before which the leads were created. */
function levelSql(dialect: Dialect, level: LeadScope['level'], readLeads: (leads: string) => string) {
  const { column, index } = LEVELS[level];
  const isInScope = `l.company_id = $1 AND l.${column} = $2`;
  const leads = `leadtap.leads AS l ${index === undefined ? '' : dialect.indexedBy(index)}
    WHERE ${isInScope} AND l.created_at < leadtap.from_ms($3)`;
  return {
    list: `SELECT leadtap.to_ms(l.created_at) AS "createdAt" FROM ${leads} ORDER BY l.created_at DESC LIMIT $4`,
    /**
     * The next leads, and where they end. Only those leave the database that may match: text `$4`, digits `$5`. They leave it as one
     * value, because a row for each takes twice as long.
     */
    search: `
      WITH step AS MATERIALIZED (
        SELECT l.created_at AS next FROM ${leads} ORDER BY l.created_at DESC LIMIT 1 OFFSET ${dialect.leadsPerStep - 1})
      SELECT (SELECT leadtap.to_ms(next) FROM step) AS next, ${dialect.jsonOfRows(['"createdAt"', 'text', 'phones'])} AS candidates
        FROM (SELECT leadtap.to_ms(l.created_at) AS "createdAt", ${TEXT} AS text, ${PHONES} AS phones FROM ${leads}
                 AND l.created_at >= coalesce((SELECT next FROM step), ${BEFORE_ALL_TIMES})
               ORDER BY l.created_at DESC LIMIT ${NO_LIMIT}) AS t
       WHERE ${dialect.containsAscii('text', '$4')} OR octet_length(text) <> length(text) OR phones LIKE $5`,
    /** The third value is a JSON array of times instead. A lead that has left the scope meanwhile is not read. */
    read: readLeads(`${dialect.rows('$3', { createdAt: 'time' })} AS k
      ${dialect.joinEach('leads', 'l', `${isInScope} AND l.created_at = k."createdAt"`)}`),
  };
}

/** What a step has found, newest first. `next` is where the next one begins; undefined if there are no more leads. */
interface Step {
  readonly keys: readonly number[];
  readonly next: number | undefined;
  /** Of what has left the database. */
  readonly characters: number;
}

interface SearchRow {
  readonly next: number | null;
  readonly candidates: string | null;
}

/** `readLeads` is the query of whole leads from a join that has them as `l`. */
export function createLeadSearch(
  { dialect, read }: SqlDatabase,
  readLeads: (leads: string) => string,
  toLead: (row: StoredLeadRow) => StoredLead,
): Pick<LeadStore, 'searchLeads'> {
  const sql = {
    COMPANY: levelSql(dialect, 'COMPANY', readLeads),
    BRANCH: levelSql(dialect, 'BRANCH', readLeads),
    DEPARTMENT: levelSql(dialect, 'DEPARTMENT', readLeads),
  };
  const valuesOf = (scope: LeadScope) => [scope.companyId, placeOf(scope)];

  function* listStep(scope: LeadScope, before: number, limit: number): SqlTask<Step> {
    const values = [...valuesOf(scope), before, limit];
    const rows = yield* query<{ createdAt: number }>(sql[scope.level].list, values);
    const keys = rows.map(({ createdAt }) => createdAt);
    return { keys, next: keys.length < limit ? undefined : keys.at(-1), characters: 0 };
  }

  function* searchStep(scope: LeadScope, before: number, matcher: LeadMatcher): SqlTask<Step> {
    const { text, digits, matches } = matcher;
    const pattern = digits === '' ? null : `%${[...digits].join('%')}%`;
    const values = [...valuesOf(scope), before, text, pattern];
    const [row] = yield* query<SearchRow>(sql[scope.level].search, values);
    const json = row?.candidates ?? '[]';
    const candidates: [number, string, string][] = JSON.parse(json);
    const found = candidates.filter(([, searched, phones]) => matches({ text: searched, phones }));
    const keys = found.map(([createdAt]) => createdAt);
    return { keys, next: row?.next ?? undefined, characters: json.length };
  }

  function* readPart(scope: LeadScope, keys: readonly number[]): SqlTask<StoredLeadRow[]> {
    const times = JSON.stringify(keys.map((createdAt) => ({ createdAt })));
    return yield* query<StoredLeadRow>(sql[scope.level].read, [...valuesOf(scope), times]);
  }

  // One step at a time, of all searches in turn: they use one connection at most, and polls are answered between them.
  let lastStep: Promise<unknown> = Promise.resolve();
  function runStep<T>(task: () => SqlTask<T>, signal: AbortSignal | undefined): Promise<T> {
    const step = lastStep
      .then(() => takeTurn())
      .then(() => {
        signal?.throwIfAborted();
        return read(task, { timeout: 'short' });
      });
    lastStep = step.catch(() => undefined);
    return step;
  }

  return {
    async searchLeads({ scope, before = AFTER_ALL_MS, text, limit }, signal) {
      if (![...valuesOf(scope), text ?? ''].every(isStorable)) return { leads: [], next: undefined };
      const matcher = text === undefined ? undefined : createLeadMatcher(text);
      const found: number[] = [];
      let next: number | undefined = before;
      let leadCount = 0;
      let cost = 0;
      while (next !== undefined && found.length < limit && leadCount < MAX_LEADS && cost < MAX_COST) {
        const from: number = next;
        const step: Step = await runStep(
          () => (matcher ? searchStep(scope, from, matcher) : listStep(scope, from, limit)),
          signal,
        );
        found.push(...step.keys);
        next = step.next;
        leadCount += dialect.leadsPerStep;
        cost += dialect.leadsPerStep + step.characters / CHARACTERS_PER_COST;
      }
      if (found.length > limit) next = found[limit - 1];

      const leads: StoredLead[] = [];
      const keys = found.slice(0, limit);
      for (let start = 0; start < keys.length; start += LEADS_PER_PART) {
        // At least one part, so that the next search begins later.
        if (start > 0 && cost >= MAX_COST) {
          next = keys[start - 1];
          break;
        }
        const part = keys.slice(start, start + LEADS_PER_PART);
        const rows = await runStep(() => readPart(scope, part), signal);
        cost += rows.reduce((sum, row) => sum + countCharacters(row), 0) / CHARACTERS_PER_COST;
        leads.push(...rows.map(toLead));
      }
      return { leads: leads.sort((a, b) => b.lead.createdAt - a.lead.createdAt), next };
    },
  };
}

const countCharacters = (row: StoredLeadRow): number =>
  Object.values(row).reduce<number>((sum, value) => {
    if (typeof value === 'string') return sum + value.length;
    return typeof value === 'object' && value !== null ? sum + JSON.stringify(value).length : sum;
  }, 0);

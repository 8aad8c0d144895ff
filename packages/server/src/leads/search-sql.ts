/** The search for leads in a database, newest first. */

import { MAX_SEARCH_LENGTH } from '@leadtap/contract';
import { mapInSlices, takeTurn } from '../lib/event-loop.ts';
import { FairQueue } from '../lib/fair.ts';
import { AFTER_ALL_MS, type Dialect, isStorable, query, type SqlDatabase, type SqlTask } from '../sql/sql.ts';
import { type LeadScope, placeOf, type StoredLead } from './record.ts';
import type { StoredLeadRow } from './row.ts';
import { createLeadMatcher, type LeadMatcher } from './search.ts';
import type { LeadStore } from './store.ts';

/** A search that has compared so many leads ends, and the next one continues: some 30 ms of a processor. */
const MAX_COMPARED = 10_000;
/** Found leads are read in parts, because a lead may have 100 kB. */
const LEADS_PER_PART = 10;

/** The place that narrows each level; the index has the leads of a place in the order of time. */
const LEVELS = {
  COMPANY: { column: 'company_id', index: undefined },
  BRANCH: { column: 'branch_id', index: 'leads_by_branch' },
  DEPARTMENT: { column: 'department_id', index: 'leads_by_department' },
} as const satisfies Record<LeadScope['level'], object>;

/** The beginnings of texts in one text, without those that are null. */
const joinTexts = (separator: string, ...columns: readonly string[]): string =>
  `concat_ws('${separator}', ${columns.map((column) => `substr(l.${column}, 1, ${MAX_SEARCH_LENGTH})`).join(', ')})`;

const TEXT = `concat_ws('\n', l.id, ${joinTexts('\n', 'full_name')}, ${joinTexts(' ', 'first_name', 'last_name')},
  ${joinTexts('\n', 'email', 'phone1', 'phone2')})`;
const PHONES = joinTexts('\n', 'phone1', 'phone2');

/** The first three values: company, place, time before which the leads were created. */
function levelSql(dialect: Dialect, level: LeadScope['level'], readLeads: (leads: string) => string) {
  const { column, index } = LEVELS[level];
  const isInScope = `l.company_id = $1 AND l.${column} = $2`;
  const leads = `leadtap.leads AS l ${index === undefined ? '' : dialect.indexedBy(index)}
    WHERE ${isInScope} AND l.created_at < leadtap.from_ms($3)`;
  const mayMatch = `${dialect.containsAscii('text', '$4')} OR octet_length(text) <> length(text) OR phones LIKE $5`;
  return {
    list: `SELECT leadtap.to_ms(l.created_at) AS "createdAt" FROM ${leads} ORDER BY l.created_at DESC LIMIT $4`,
    /**
     * The next leads, and where they end. Only those leave the database that may match: part of the text `$4`, digits `$5`. They leave it as
     * one value, because a row for each takes twice as long.
     */
    search: `
      SELECT min("createdAt") AS last, count(*) AS leads, ${dialect.jsonOfRows(['"createdAt"', 'text', 'phones'], mayMatch)} AS candidates
        FROM (SELECT leadtap.to_ms(l.created_at) AS "createdAt", ${TEXT} AS text, ${PHONES} AS phones
                FROM ${leads} ORDER BY l.created_at DESC LIMIT ${dialect.leadsPerStep}) AS step`,
    /** The third value is a JSON array of times instead. A lead that has left the scope meanwhile is not read. */
    read: readLeads(`${dialect.rows('$3', { createdAt: 'time' })} AS k
      ${dialect.joinEach('leads', 'l', `${isInScope} AND l.created_at = k."createdAt"`)}`),
  };
}

/** Of a lead that may match. */
type Candidate = readonly [createdAt: number, text: string, phones: string];

/** What a step has found, newest first. `next` is where the next one begins; undefined if there are no more leads. */
interface Step {
  readonly candidates: readonly Candidate[];
  readonly next: number | undefined;
}

interface SearchRow {
  readonly last: number | null;
  readonly leads: number;
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
  const valuesOf = (scope: LeadScope) => {
    const { branchId, departmentId } = placeOf(scope);
    return [scope.companyId, departmentId ?? branchId ?? scope.companyId];
  };

  function* listStep(scope: LeadScope, before: number, limit: number): SqlTask<Step> {
    const values = [...valuesOf(scope), before, limit];
    const rows = yield* query<{ createdAt: number }>(sql[scope.level].list, values);
    const candidates = rows.map(({ createdAt }): Candidate => [createdAt, '', '']);
    return { candidates, next: rows.length < limit ? undefined : rows.at(-1)?.createdAt };
  }

  function* searchStep(scope: LeadScope, before: number, { part, digits }: LeadMatcher): SqlTask<Step> {
    const pattern = digits === '' ? null : `%${[...digits].join('%')}%`;
    const values = [...valuesOf(scope), before, part, pattern];
    const [row] = yield* query<SearchRow>(sql[scope.level].search, values);
    const { last = null, leads = 0, candidates } = row ?? {};
    const next = leads < dialect.leadsPerStep ? undefined : (last ?? undefined);
    return { candidates: JSON.parse(candidates ?? '[]'), next };
  }

  function* readPart(scope: LeadScope, keys: readonly number[]): SqlTask<StoredLeadRow[]> {
    const times = JSON.stringify(keys.map((createdAt) => ({ createdAt })));
    return yield* query<StoredLeadRow>(sql[scope.level].read, [...valuesOf(scope), times]);
  }

  // One step at a time, of companies in turn: searches use one connection at most, and polls are answered between two steps.
  const steps = new FairQueue({ maxRunning: 1 });
  const runStep = <T>({ companyId }: LeadScope, task: () => SqlTask<T>, signal: AbortSignal | undefined) =>
    steps.run(
      companyId,
      companyId,
      async () => {
        await takeTurn(companyId);
        return read(task, { timeout: 'short' });
      },
      signal,
    );

  return {
    async searchLeads({ scope, before = AFTER_ALL_MS, text, stamps, limit, isTimeUp = () => false }, signal) {
      if (![...valuesOf(scope), text ?? ''].every(isStorable)) return { leads: [], next: undefined };
      const matcher = text === undefined ? undefined : createLeadMatcher(text);
      const found: number[] = [...(stamps ?? [])];
      let next: number | undefined = stamps ? stamps[limit - 1] : before;
      let compared = 0;
      const isGoingOn = () =>
        next === before || (found.length < limit && compared < MAX_COMPARED && !isTimeUp());
      while (stamps === undefined && next !== undefined && isGoingOn()) {
        const from: number = next;
        const step: Step = await runStep(
          scope,
          () => (matcher ? searchStep(scope, from, matcher) : listStep(scope, from, limit)),
          signal,
        );
        const isMatch = await mapInSlices(
          step.candidates,
          ([, searched, phones]) => matcher?.matches({ text: searched, phones }) ?? true,
          scope.companyId,
        );
        for (const [index, [createdAt]] of step.candidates.entries())
          if (isMatch[index]) found.push(createdAt);
        next = step.next;
        compared += dialect.leadsPerStep;
      }
      if (found.length > limit) next = found[limit - 1];

      const leads: StoredLead[] = [];
      const keys = found.slice(0, limit);
      for (let start = 0; start < keys.length; start += LEADS_PER_PART) {
        const part = keys.slice(start, start + LEADS_PER_PART);
        const rows = await runStep(scope, () => readPart(scope, part), signal);
        leads.push(...rows.map(toLead));
      }
      return { leads: leads.sort((a, b) => b.lead.createdAt - a.lead.createdAt), next };
    },
  };
}

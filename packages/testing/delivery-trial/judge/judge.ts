/** History in, verdict out. Nothing here reads a clock, a database or the network. */
import { type ClientVerdict, judgeClients } from './clients.ts';
import type { History } from './history.ts';
import { type Findings, PageJudge } from './pages.ts';
import { judgePromises } from './promises.ts';
import { Timelines } from './timeline.ts';

export interface Verdict extends Findings {
  readonly clients: readonly ClientVerdict[];
  /** Leads that a client never got, and acknowledged leads that are not stored. */
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly complaints: readonly string[];
  readonly leads: number;
}

export function judge(history: History): Verdict {
  const { writes, pages, stored, clockSetBackAt, complaints } = history;
  const timelines = new Timelines(history);
  const findings: Findings = { missing: [], stale: [], broken: [] };
  const pageJudge = new PageJudge(timelines, clockSetBackAt, findings);
  for (const page of pages) pageJudge.judge(page);
  findings.broken.push(...judgePromises(history, timelines));
  const end = 1 + Math.max(0, ...lastPositions(history));
  const clients = judgeClients(pages, timelines, end, clockSetBackAt);
  const vanished = judgeStored(stored, timelines, end, findings);
  return {
    ...findings,
    clients,
    lost: [...vanished, ...clients.flatMap(({ lost }) => lost)],
    doubled: clients.flatMap(({ doubled }) => doubled),
    complaints,
    leads: new Set(writes.map(({ companyId, id }) => `${companyId}\0${id}`)).size,
  };
}

export const isFlawless = ({ lost, doubled, stale, missing, broken, complaints }: Verdict): boolean =>
  [lost, doubled, stale, missing, broken, complaints].every(({ length }) => length === 0);

function* lastPositions({ writes, pages }: History): Generator<number> {
  let last = 0;
  for (const { begun, acknowledged = begun } of writes) last = Math.max(last, acknowledged);
  for (const { ended } of pages) last = Math.max(last, ended);
  yield last;
}

/** What was acknowledged is stored, and nothing else is. */
function judgeStored(
  stored: History['stored'],
  timelines: Timelines,
  end: number,
  { stale }: Findings,
): string[] {
  const held = new Map(stored.map((lead) => [`${lead.companyId}\0${lead.id}`, lead]));
  const vanished: string[] = [];
  for (const [key, lead] of timelines.leads) {
    const possible = lead.possible(end, end);
    const row = held.get(key);
    held.delete(key);
    const mayBeGone = possible.some((write) => write?.state === undefined);
    if (!row && !mayBeGone) vanished.push(`${lead.companyId}/${lead.id} was acknowledged and is not stored`);
    if (row && !possible.some((write) => write?.state?.version === row.version))
      stale.push(`${lead.companyId}/${lead.id} is stored as ${row.version}, which is not its last version`);
  }
  for (const { companyId, id } of held.values())
    stale.push(`${companyId}/${id} is stored and was never committed`);
  return vanished;
}

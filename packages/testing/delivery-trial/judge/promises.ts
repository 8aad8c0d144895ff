/** D1, D2, D4 and D5, over the whole history. */
import type { History } from './history.ts';
import type { Incarnation, LeadTimeline, Timelines } from './timeline.ts';

export function judgePromises(history: History, timelines: Timelines): string[] {
  return [
    ...judgeShownIdentities(history),
    ...timelines.companyIds.flatMap((companyId) => judgeCommitOrder(timelines.incarnations(companyId))),
    ...[...timelines.leads.values()].flatMap((lead) => judgeUpdates(lead, timelines)),
  ];
}

/**
 * D1: no two leads share a `createdAt`. A lead of history, which keeps its own time, may have that of a deleted lead. D4:
 * what identifies a lead never changes.
 */
function judgeShownIdentities({ pages }: History): Set<string> {
  const broken = new Set<string>();
  const owners = new Map<string, string>();
  const claim = (promise: string, what: string, owner: string): void => {
    const first = owners.get(what) ?? owner;
    owners.set(what, first);
    if (first !== owner) broken.add(`${promise}: ${what} belongs to ${first} and to ${owner}`);
  };
  for (const { client, leads } of pages)
    for (const { id, triggerId, createdAt, automationCreatedAt } of leads) {
      const { companyId } = client.scope;
      if (createdAt === Date.parse(automationCreatedAt))
        claim('D1', `${companyId} createdAt ${createdAt}`, triggerId);
      claim(
        'D4',
        `automation_trigger_id ${triggerId}`,
        `${companyId}/${id} ${createdAt} ${automationCreatedAt}`,
      );
    }
  return broken;
}

/** D2: a lead that was visible before another was committed has the smaller `createdAt`. */
function judgeCommitOrder(incarnations: readonly Incarnation[]): string[] {
  const stamped = incarnations.filter(({ first, isFirstKnown }) => isFirstKnown && !first.isHistorical);
  const byBegun = stamped.toSorted((a, b) => a.first.begun - b.first.begun);
  const byEnd = stamped
    .filter(({ first }) => first.acknowledged !== undefined)
    .sort((a, b) => (a.first.acknowledged ?? 0) - (b.first.acknowledged ?? 0));
  const broken: string[] = [];
  let newest: Incarnation | undefined;
  let next = 0;
  for (const later of byBegun) {
    for (; (byEnd[next]?.first.acknowledged ?? Infinity) < later.first.begun; next += 1) {
      const earlier = byEnd[next];
      if (earlier && earlier.createdAt > (newest?.createdAt ?? -Infinity)) newest = earlier;
    }
    if (newest && newest.createdAt >= later.createdAt)
      broken.push(
        `D2: ${later.lead.companyId}/${later.lead.id} is stamped ${newest.createdAt - later.createdAt} ms before ${newest.lead.id}, which was visible earlier`,
      );
  }
  return broken;
}

/** D5: the same id again is an update, which keeps the `createdAt` (D4). */
function judgeUpdates({ companyId, id, writes }: LeadTimeline, timelines: Timelines): string[] {
  const broken: string[] = [];
  for (const [index, later] of writes.entries()) {
    const earlier = writes[index - 1];
    if (!earlier?.state || !later.state || later.isReinserted || later.acknowledged === undefined) continue;
    const { acknowledged: until } = later;
    if (earlier.acknowledged === undefined || earlier.acknowledged >= later.begun) continue;
    const isDeletedBetween = writes.some(
      ({ state, begun, acknowledged = Infinity }) =>
        state === undefined && acknowledged >= earlier.begun && begun <= until,
    );
    const [before, after] = [timelines.createdAtOf(earlier), timelines.createdAtOf(later)];
    if (!isDeletedBetween && before !== undefined && after !== undefined && before !== after)
      broken.push(`D5: ${companyId}/${id} was ${before}, and after an update ${after}`);
  }
  return broken;
}

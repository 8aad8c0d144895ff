/**
 * Judges what a receiver of leads got. The guarantee of docs/delivery.md: at least once, in order, never skipped: the position
 * moves only with a 2xx, a repetition has the same `webhook-id`, and nothing is sent that the user may not see at that moment. A pure
 * function of the history.
 */

export interface SentLead {
  readonly id: string;
  readonly createdAt: string;
  readonly branchName: string | null;
}

export interface LeadRequest {
  readonly webhookId: string;
  /** Its lead was read after it. */
  readonly begunAt: number;
  /** And before. */
  readonly arrivedAt: number;
  readonly lead: SentLead;
  /** The receiver has stored the lead, whether its answer arrived in time or not. */
  isAccepted: boolean;
}

/** One hook. */
export interface LeadSubscription {
  readonly requests: LeadRequest[];
  /** Its token was revoked by then. */
  endedAt?: number;
}

/** A time in which the user may see only the leads of one branch. */
export interface Narrowing {
  readonly branchName: string;
  readonly from: number;
  readonly until: number;
}

export interface LeadHistory {
  readonly client: string;
  readonly companyId: string;
  readonly subscriptions: readonly LeadSubscription[];
  /** What the user may see at all times, and was not erased. */
  readonly guaranteed: readonly { readonly id: string }[];
  readonly narrowings: readonly Narrowing[];
  /** By id: when it was erased. */
  readonly erased: ReadonlyMap<string, number>;
}

export interface LeadFindings {
  readonly lost: readonly string[];
  readonly outOfOrder: readonly string[];
  /** Doubled with another `webhook-id`, although it was visible all the time. */
  readonly otherIds: readonly string[];
  /** Sent although the user could not see it. */
  readonly hidden: readonly string[];
}

export function judgeLeads(history: LeadHistory): LeadFindings {
  const { client, subscriptions, guaranteed } = history;
  const accepted = new Set<string>();
  const outOfOrder: string[] = [];
  const otherIds: string[] = [];
  const hidden: string[] = [];
  for (const { requests, endedAt = Number.POSITIVE_INFINITY } of subscriptions) {
    const idByLead = new Map<string, string>();
    let newest = '';
    for (const request of requests) {
      if (request.begunAt > endedAt) hidden.push(`${client} got a request after its token was revoked`);
      const { lead, webhookId, isAccepted } = request;
      if (isAccepted) accepted.add(lead.id);
      const known = idByLead.get(lead.id);
      if (known !== undefined && known !== webhookId && isAlwaysVisible(history, lead))
        otherIds.push(`${client} got ${lead.id} as ${known}, then as ${webhookId}`);
      if (known === undefined && isAlwaysVisible(history, lead)) {
        if (lead.createdAt <= newest) outOfOrder.push(`${client} got ${lead.id} after a later lead`);
        newest = lead.createdAt;
      }
      idByLead.set(lead.id, known ?? webhookId);
      const reason = findReason(history, request, lead);
      if (reason) hidden.push(`${client} got ${lead.id}, which ${reason}`);
    }
  }
  const lost = guaranteed.filter(({ id }) => !accepted.has(id)).map(({ id }) => `${client} never got ${id}`);
  return { lost, outOfOrder, otherIds, hidden };
}

/** One that becomes visible while a request fails is sent before the request is repeated. */
const isAlwaysVisible = ({ narrowings }: LeadHistory, { branchName }: SentLead): boolean =>
  narrowings.every((narrowing) => narrowing.branchName === branchName);

/** Why the user could not see the lead for the whole time in which it was read. */
function findReason(
  { companyId, narrowings, erased }: LeadHistory,
  { begunAt, arrivedAt }: LeadRequest,
  { id, branchName }: SentLead,
): string | undefined {
  if (!id.startsWith(`${companyId}-`)) return 'is of another company';
  if (begunAt > (erased.get(id) ?? Number.POSITIVE_INFINITY)) return 'was erased';
  const isHidden = narrowings.some(
    (narrowing) =>
      narrowing.branchName !== branchName && narrowing.from < begunAt && arrivedAt < narrowing.until,
  );
  return isHidden ? 'is of a branch that the user could not see' : undefined;
}

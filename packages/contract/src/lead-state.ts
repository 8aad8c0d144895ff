/**
 * Whether a consumer has a lead. The one rule for the server and the console, whose times are numbers and ISO texts.
 *
 * - `confirmed`: it has asked for what comes after the lead
 * - `delivered`: the lead was sent to it
 * - `waiting`: neither yet
 * - `skipped`: its position is past the lead, but the lead was never sent to it
 */
export type LeadState = 'confirmed' | 'delivered' | 'waiting' | 'skipped';

export interface PositionTimes<Time> {
  readonly firstPollAt: Time | null;
  readonly confirmedThrough: Time | null;
  readonly deliveredThrough: Time | null;
  /** After `after` and up to `through`. Null: from the first lead. */
  readonly gaps: readonly { readonly after: Time | null; readonly through: Time }[];
  /** The `createdAt` of leads that were imported as history after its first poll, and sent to it. */
  readonly receivedHistory?: readonly Time[];
}

export interface LeadTimes<Time> {
  readonly createdAt: Time;
  /** When it was added. Another time than `createdAt` only for imported history. */
  readonly automation_created_at: Time;
}

/** Leads are delivered in the order of `createdAt`, so that positions and gaps tell it for each lead. */
export function leadStateOf<Time extends number | string>(
  { firstPollAt, confirmedThrough, deliveredThrough, gaps, receivedHistory = [] }: PositionTimes<Time>,
  { createdAt, automation_created_at: addedAt }: LeadTimes<Time>,
): LeadState {
  const isConfirmed = confirmedThrough !== null && confirmedThrough >= createdAt;
  const isDelivered = deliveredThrough !== null && deliveredThrough >= createdAt;
  if (!isConfirmed && !isDelivered) return 'waiting';
  const isInGap = gaps.some(
    ({ after, through }) => (after === null || after < createdAt) && createdAt <= through,
  );
  // Its position was past the lead before there was the lead, unless it is known that it was sent.
  const isLaterHistory = createdAt !== addedAt && firstPollAt !== null && firstPollAt <= addedAt;
  const isReceived = deliveredThrough === createdAt || receivedHistory.includes(createdAt);
  if (isInGap || (isLaterHistory && !isReceived)) return 'skipped';
  return isConfirmed ? 'confirmed' : 'delivered';
}

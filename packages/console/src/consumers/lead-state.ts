import type { Lead } from '@leadtap/client';
import type { Consumer } from '@leadtap/contract';

/**
 * - `confirmed`: it has asked for what comes after the lead
 * - `delivered`: the lead was sent to it
 * - `uncertain`: its position is past the lead, but it first polled after the lead came, or the lead is imported history
 * - `pending`: neither
 */
export type LeadState = 'confirmed' | 'delivered' | 'uncertain' | 'pending';

export type LeadTimes = Pick<Lead, 'createdAt' | 'automation_created_at'>;

/** Leads are delivered in the order of `createdAt`, so that the positions of a consumer tell for each lead whether it has it. */
export function leadStateOf(
  { firstPollAt, confirmedThrough, deliveredThrough }: Consumer,
  { createdAt, automation_created_at }: LeadTimes,
): LeadState {
  const isPast = (position: string | null) => position !== null && position >= createdAt;
  const isConfirmed = isPast(confirmedThrough);
  if (!isConfirmed && !isPast(deliveredThrough)) return 'pending';
  const isLater = firstPollAt !== null && firstPollAt > createdAt;
  const isHistory = createdAt !== automation_created_at;
  // This very lead was the newest one of a page.
  const isSent = deliveredThrough === createdAt;
  if ((isLater || isHistory) && !isSent) return 'uncertain';
  return isConfirmed ? 'confirmed' : 'delivered';
}

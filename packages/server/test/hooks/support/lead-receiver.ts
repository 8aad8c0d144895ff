import type { Lead } from '@leadtap/contract';
import { expect } from 'vitest';
import type { ReceivedEvent, Receiver } from '../../../../testing/integrations/hook-receiver.ts';

/** The lead of a request. */
export const leadOf = ({ text }: ReceivedEvent): Lead => JSON.parse(text);

export const timeOf = (event: ReceivedEvent): number => Date.parse(leadOf(event).createdAt);

export const idOf = ({ headers }: ReceivedEvent): string => String(headers['webhook-id']);

/** The times of the leads, in the order in which each came first. Fails if one came again with another id. */
export function firstTimes({ events }: Pick<Receiver, 'events'>): number[] {
  const idByTime = new Map<number, string>();
  for (const event of events) {
    expect(idByTime.get(timeOf(event)) ?? idOf(event)).toBe(idOf(event));
    idByTime.set(timeOf(event), idOf(event));
  }
  return [...idByTime.keys()];
}

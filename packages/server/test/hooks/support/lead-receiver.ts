import type { HookLeadsEvent, HookSend, Lead } from '@leadtap/contract';
import { expect } from 'vitest';
import type { ReceivedEvent, Receiver } from '../../../../testing/integrations/hook-receiver.ts';

/** What carries leads. */
export const SENDS = ['lead', 'leads'] as const satisfies readonly HookSend[];

/** The leads of a request, of either form. */
export const leadsOf = ({ text }: ReceivedEvent): readonly Lead[] => {
  const body = JSON.parse(text) as Lead | HookLeadsEvent;
  return 'data' in body ? body.data.leads : [body];
};

export const timesOf = (event: ReceivedEvent): number[] =>
  leadsOf(event).map(({ createdAt }) => Date.parse(createdAt));

export const idOf = ({ headers }: ReceivedEvent): string => String(headers['webhook-id']);

/** The times of the leads, in the order in which each came first. Fails if a request came again with another id. */
export function firstTimes({ events }: Pick<Receiver, 'events'>): number[] {
  const idByTime = new Map<number, string>();
  for (const event of events)
    for (const time of timesOf(event)) {
      expect(idByTime.get(time) ?? idOf(event)).toBe(idOf(event));
      idByTime.set(time, idOf(event));
    }
  return [...idByTime.keys()];
}

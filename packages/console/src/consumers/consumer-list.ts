/** Who polls with a token of this user. */
import { CONSUMERS_PATH, type Consumers } from '@leadtap/contract';
import { clock } from '../clock.ts';
import { createPolledList, type ListState } from '../polled-list.ts';

export type ConsumerList = ListState<Consumers>;

const isConsumers = (body: unknown): body is Consumers =>
  typeof body === 'object' && body !== null && 'consumers' in body && Array.isArray(body.consumers);

export const {
  state: consumerList,
  delay: listDelay,
  checkNow,
  use: useConsumerList,
} = createPolledList(() => CONSUMERS_PATH, isConsumers);

/** The clocks of the page and the service may differ by this much. */
const CLOCK_MARGIN_MS = 5000;

/** Whether the lead was created after the list was read, or may have been. */
export const isListOlderThan = (createdAt: string, readAt: number): boolean =>
  Date.parse(createdAt) > readAt + (clock() - Date.now()) - CLOCK_MARGIN_MS;

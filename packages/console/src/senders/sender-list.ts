/** Who sends leads with a token of this user, while the service accepts leads over HTTP. */
import { SENDERS_PATH, type Senders } from '@leadtap/contract';
import { createPolledList } from '../polled-list.ts';

const isSenders = (body: unknown): body is Senders =>
  typeof body === 'object' && body !== null && 'senders' in body && Array.isArray(body.senders);

export const {
  state: senderList,
  delay: sendersDelay,
  use: useSenderList,
} = createPolledList(() => SENDERS_PATH, isSenders);

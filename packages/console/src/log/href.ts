/** The address of the log of a consumer or a sender. */
import { hrefOf } from '../router.ts';

export type LogOwner = 'consumers' | 'senders';

export const logHref = (owner: LogOwner, id: string): string => hrefOf('overview', `${owner}/${id}`);

/** With the entry unfolded that has the lead. */
export const logHrefOfLead = (consumerId: string, createdAt: string): string =>
  hrefOf('overview', `consumers/${consumerId}?lead=${createdAt}`);

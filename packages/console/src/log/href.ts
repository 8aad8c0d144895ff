/** The address of the log of a consumer or a sender. */
import { hrefOf } from '../router.ts';

export type LogOwner = 'consumers' | 'senders';

export const logHref = (owner: LogOwner, id: string): string => hrefOf('overview', `${owner}/${id}`);

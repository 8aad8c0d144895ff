/** What the commands about consumers share. */
import { type Config, hookHostsOf } from '../../config.ts';
import type { Consumer } from '../../consumers/store.ts';
import type { ConsumerSources } from '../../status/consumer-states.ts';
import type { Store } from '../../store/store.ts';
import { hooksOf } from '../context.ts';
import { Failure } from '../failure.ts';

export function requireConsumers({ consumers }: Config): void {
  if (consumers) return;
  throw new Failure(
    'configuration',
    'LEADTAP_CONSUMERS is off, so it is not recorded who polls',
    'Set LEADTAP_CONSUMERS=on for the service and for this command, and start the service again.',
  );
}

export const consumerSourcesOf = async (store: Store, config: Config): Promise<ConsumerSources> => ({
  consumers: store.consumers,
  hooks: await hooksOf(store, config),
  hookHosts: hookHostsOf(config),
});

/** The name of a consumer for people: that of its token, or the id of it. */
export const describeConsumer = ({
  name,
  tokenId,
  userId,
}: Pick<Consumer, 'name' | 'tokenId' | 'userId'>): string =>
  `${name ?? (tokenId === null ? 'a token without an id' : `token ${tokenId}`)} (user ${userId})`;

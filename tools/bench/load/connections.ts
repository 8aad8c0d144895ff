import { type Answers, Connection } from './connection.ts';
import type { Load } from './messages.ts';

/** Opened before the clock starts, spread evenly over the ports. */
export const openConnections = (
  { ports, connections }: Pick<Load, 'ports' | 'connections'>,
  answers: Answers,
): Promise<Connection[]> =>
  Promise.all(
    Array.from({ length: connections }, (_, n) => Connection.open(ports[n % ports.length] ?? 0, answers)),
  );

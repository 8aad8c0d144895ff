/** A row of the list: what happened, and what every output says then. */
import type { World } from './world.ts';

export interface Row {
  /** Begins with its number. */
  readonly name: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly history: (world: World) => Promise<unknown>;
  /** By the name of a connection: level, state, figures and action, and a part of the message. No others are listed. */
  readonly says: Readonly<Record<string, readonly [short: string, part?: string]>>;
  /** A part of the one sentence. */
  readonly sentence?: string;
  /** Of the installation. */
  readonly problems?: readonly string[];
}

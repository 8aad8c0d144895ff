import { randomUUID } from 'node:crypto';

/** Makes an identifier for something that happened at `ms`. */
export type MakeId = (ms: number) => string;

/**
 * UUID version 7 (RFC 9562): the time in front keeps new rows side by side in an index, where random
 * identifiers would touch a page each.
 */
export const uuidV7: MakeId = (ms) => {
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
};

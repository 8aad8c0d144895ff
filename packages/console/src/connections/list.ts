/** All ways in and out, as the service lists them. */
import {
  CONNECTIONS_PATH,
  type Connections,
  DOOR_ID,
  type InConnection,
  type LeadConnections,
  type OutConnection,
  UNASSIGNED_ID,
} from '@leadtap/contract';
import { computed } from '@preact/signals';
import { clock } from '../clock.ts';
import { createPolledList } from '../polled-list.ts';

export type Connection = InConnection | OutConnection;

/** Leads that no automation gets, and requests with unknown keys, have none. */
export const hasLog = (id: string): boolean => id !== UNASSIGNED_ID && id !== DOOR_ID;

export const isOut = (connection: Connection): connection is OutConnection => 'kind' in connection;

const isConnections = (body: unknown): body is Connections =>
  typeof body === 'object' && body !== null && 'in' in body && 'out' in body && Array.isArray(body.out);

export const {
  state: connectionList,
  delay: listDelay,
  checkNow,
  use: useConnections,
} = createPolledList(() => CONNECTIONS_PATH, isConnections);

/** Empty until they are known. */
export const waysOut = computed((): readonly OutConnection[] =>
  connectionList.value.kind === 'listed' ? connectionList.value.out : [],
);

/** Undefined: it is not known yet, or not listed. */
export function findConnection(id: string): Connection | undefined {
  const list = connectionList.value;
  return list.kind === 'listed' ? [...list.in, ...list.out].find((one) => one.id === id) : undefined;
}

/** The automation of a platform has its name. */
export const isNamed = (name: string, platform: string): boolean =>
  name.trim().toLowerCase() === platform.toLowerCase();

/** The clocks of the page and the service may differ by this much. */
const CLOCK_MARGIN_MS = 5000;

/** Whether the lead was created after the list was read, or may have been. */
export const isListOlderThan = (createdAt: string, readAt: number): boolean =>
  Date.parse(createdAt) > readAt + (clock() - Date.now()) - CLOCK_MARGIN_MS;

const isLeadConnections = (body: unknown): body is LeadConnections =>
  typeof body === 'object' && body !== null && 'out' in body && Array.isArray(body.out);

/** What became of one lead. Without an id, nothing is asked. */
export const createLeadList = (idOf: () => string | undefined) =>
  createPolledList(() => {
    const id = idOf();
    return id === undefined ? '' : `${CONNECTIONS_PATH}?lead=${encodeURIComponent(id)}`;
  }, isLeadConnections);

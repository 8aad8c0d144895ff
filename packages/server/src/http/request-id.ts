import type { IncomingMessage } from 'node:http';
import { v7 } from 'uuid';

/** A caller's own id is kept where it is harmless in a header and in a log line. */
const HARMLESS = /^[\w.:+/=-]{1,128}$/;

export const requestIdFrom = (given: unknown): string =>
  typeof given === 'string' && HARMLESS.test(given) ? given : v7();

export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string =>
  requestIdFrom(headers['x-request-id']);

import type { IncomingMessage } from 'node:http';
import { uuidV7 } from '../uuid.ts';

/** A caller's own id is kept where it is harmless in a header and in a log line. */
const HARMLESS = /^[\w.:+/=-]{1,128}$/;

export const requestIdFrom = (given: unknown): string =>
  typeof given === 'string' && HARMLESS.test(given) ? given : uuidV7(Date.now());

export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string =>
  requestIdFrom(headers['x-request-id']);

import type { IncomingMessage } from 'node:http';
import { uuidV7 } from '../uuid.ts';

/** A caller's own id is kept where it is harmless in a header and in a log line. */
const HARMLESS = /^[\w.:+/=-]{1,128}$/;

export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && HARMLESS.test(given) ? given : uuidV7(Date.now());
}

import type { IncomingMessage } from 'node:http';
import type { TestService } from '../../server/test/harness/service.ts';

/** The requests that reach the service from now on. */
export function recordRequests({ service }: TestService): IncomingMessage[] {
  const requests: IncomingMessage[] = [];
  service.app.server.prependListener('request', (request) => requests.push(request));
  return requests;
}

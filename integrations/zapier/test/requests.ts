import type { Socket } from 'node:net';
import type { TestService } from '../../../packages/testing/harness/service.ts';

export interface SentRequest {
  readonly url: string;
  readonly userAgent: string | undefined;
}

/** The requests that reach the service on connections that are opened from now on, each in one piece. */
export function recordRequests({ service }: TestService): SentRequest[] {
  const requests: SentRequest[] = [];
  service.publicServer.server.on('connection', (socket: Socket) =>
    socket.on('data', (bytes) => void requests.push(requestIn(bytes.toString('latin1')))),
  );
  return requests;
}

const requestIn = (text: string): SentRequest => ({
  url: /^GET (\S+) /.exec(text)?.[1] ?? '',
  userAgent: /^user-agent: (.*)$/im.exec(text)?.[1],
});

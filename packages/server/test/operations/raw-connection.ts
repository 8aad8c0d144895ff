import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A TCP connection, for input that an HTTP client would not send. */
export async function connectRaw(url: string): Promise<{ socket: Socket; received: Promise<string> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  // A closed connection may show as a reset, which is not a failure of the test.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const received = text(socket).catch(() => 'reset');
  return { socket, received };
}

export const requestHead = (url: string, token: string): string =>
  `GET ${new URL(url).pathname.replace(/\/$/, '')}/automation/new-leads HTTP/1.1\r\nHost: leads.example.com\r\nAuthorization: Bearer ${token}\r\n\r\n`;

/** Resolves when the server has stopped listening. */
export async function refused(url: string): Promise<void> {
  const answers = () =>
    fetch(`${url}/livez`).then(
      () => true,
      () => false,
    );
  while (await answers());
}

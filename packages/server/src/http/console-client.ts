import type { IncomingMessage } from 'node:http';
import { CLIENT_HEADER, CONSOLE_CLIENT } from '@leadtap/contract';

/** A request of the console. It is no consumer: a tab that is closed would be reported as a consumer that has stopped polling. */
export const isConsoleRequest = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers[CLIENT_HEADER] === CONSOLE_CLIENT;

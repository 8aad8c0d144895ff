import { STATUS_CODES } from 'node:http';
import type { HeaderList } from '../poll-state.ts';

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([status, text]) => [Number(status), `HTTP/1.1 ${status} ${text}\r\n`]),
);

/** The first line and the headers of an answer, as bytes of Latin-1. Whoever fills the list knows that its values are harmless. */
export function answerHead(status: number, headers: HeaderList, keepAlive: string): string {
  let head = STATUS_LINES.get(status) ?? '';
  for (let n = 0; n < headers.length; n += 2) head += `${headers[n]}: ${headers[n + 1]}\r\n`;
  return `${head}${keepAlive}\r\n`;
}

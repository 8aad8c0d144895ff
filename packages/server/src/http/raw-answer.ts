/** For answers that are written onto a connection, past Node's `ServerResponse`. */
import { STATUS_CODES } from 'node:http';
import { problemAnswer } from './answer-problem.ts';
import { httpDate } from './http-date.ts';
import type { HeaderList } from './poll-state.ts';
import type { ProblemError } from './problems.ts';

const STATUS_LINES: string[] = [];
for (const [status, text] of Object.entries(STATUS_CODES))
  STATUS_LINES[Number(status)] = `HTTP/1.1 ${status} ${text}\r\n`;

/** The first line and the headers, as bytes of Latin-1. Whoever fills the list knows that its values are harmless. */
export function answerHead(status: number, headers: HeaderList): string {
  let head = STATUS_LINES[status] ?? '';
  for (let n = 0; n < headers.length; n += 2) head += `${headers[n]}: ${headers[n + 1]}\r\n`;
  return `${head}\r\n`;
}

export interface RawAnswer {
  readonly status: number;
  readonly body: Buffer | undefined;
}

/** A problem, whose headers are added to those that the answer has already: the request's id among them. */
export function rawProblem(problem: ProblemError, id: string, headers: HeaderList): RawAnswer {
  const { status, headers: own, body } = problemAnswer(problem, id);
  for (const [name, value] of Object.entries(own)) if (name !== 'x-request-id') headers.push(name, value);
  headers.push('content-length', String(body.length), 'date', httpDate(Date.now()));
  return { status, body };
}

import { type Logger, pino } from 'pino';
import { toIso } from '../clock.ts';
import type { ServedPoll } from '../http/lane/express-lane.ts';
import { traceIdOf } from './trace-id.ts';

const LEVEL = pino.levels.values['info'];

/** A text that needs no escaping in JSON. */
const isPlain = (text: string): boolean => /^[\w.:+/=-]*$/.test(text);
const quoted = (text: string): string => (isPlain(text) ? `"${text}"` : JSON.stringify(text));

/**
 * The line of a poll that was answered well, as Pino would write it: each poll has one, and finding out field by field how
 * to write it costs more than the rest of the line. All other lines are Pino's.
 */
export function logPoll(log: Logger, { id, path, traceparent, state, status, durationMs }: ServedPoll): void {
  if (!log.isLevelEnabled('info')) return;
  const leads = state.answer?.poll.page.leads.count ?? 0;
  const traceId = traceIdOf(traceparent);
  const token = state.tokenId === undefined ? '' : `,"tokenId":${quoted(state.tokenId)}`;
  const trace = traceId === undefined ? '' : `,"traceId":"${traceId}"`;
  const duration = Math.round(durationMs * 1000) / 1000;
  sinkOf(log).write(
    `{"level":${LEVEL},"time":"${toIso(Date.now())}","requestId":"${id}","method":"GET","path":${quotedPath(path)},"status":${status},"durationMs":${duration},"leads":${leads}${token}${trace},"msg":"request"}\n`,
  );
}

/** The path is that of the endpoint, always the same one. */
let lastPath = { path: '', quoted: '""' };

function quotedPath(path: string): string {
  if (path !== lastPath.path) lastPath = { path, quoted: quoted(path) };
  return lastPath.quoted;
}

/** Where the lines of this logger go. */
const sinkOf = (log: Logger): { write(line: string): void } =>
  (log as Logger & { readonly [pino.symbols.streamSym]: { write(line: string): void } })[
    pino.symbols.streamSym
  ];

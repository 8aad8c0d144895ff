/** Log lines for a person at a terminal. Programs that read the output get the JSON lines. */
import { printable } from '../lib/escape.ts';
import { formatLeadCount } from './output.ts';

const PREFIXES: Readonly<Record<string, string>> = { warn: 'warning: ', error: 'error: ', fatal: 'error: ' };
/** Of use only to programs. */
const HIDDEN = ['requestId', 'reqId', 'tokenId', 'traceId', 'waitedMs'];

/** `09:30:00  GET /automation/new-leads 200  3 leads  2 ms`, in the time zone of this machine. */
export function toTerminalLine(json: string): string {
  const { time, level, msg, method, path, status, code, leads, durationMs, err, ...others } =
    JSON.parse(json);
  const isRequest = method !== undefined;
  const parts = [
    ...(isRequest ? [[method, path, status].filter(Boolean).join(' ')] : []),
    ...(isRequest && msg === 'request' ? [] : [msg]),
    ...(code === undefined ? [] : [code]),
    ...(leads === undefined ? [] : [formatLeadCount(leads)]),
    ...(durationMs === undefined ? [] : [`${Math.round(durationMs)} ms`]),
    ...Object.entries(others)
      .filter(([name]) => !HIDDEN.includes(name))
      .map(([name, value]) => `${name}: ${value}`),
    ...(err === undefined ? [] : [err.message ?? err]),
  ];
  const clock = new Date(time).toTimeString().slice(0, 8);
  return `${clock}  ${PREFIXES[level] ?? ''}${printable(parts.join('  '))}\n`;
}

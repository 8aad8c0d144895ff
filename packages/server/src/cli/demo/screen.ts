import { NEW_LEADS_PATH } from '@leadtap/contract';
import { toIso } from '../../clock.ts';
import type { LeadInput } from '../../store/records.ts';
import type { CommandContext } from '../context.ts';
import { hasColours, type Style, styled } from '../output.ts';

export interface DemoCaller {
  readonly userId: string;
  readonly shows: string;
  readonly token: string;
}

export interface DemoFacts {
  readonly baseUrl: string;
  readonly metricsUrl: string | undefined;
  readonly callers: readonly DemoCaller[];
  readonly startedAt: number;
  readonly notes: readonly string[];
}

export const curl = (url: string, token: string, flags = '-s'): string =>
  `curl ${flags} -H 'Authorization: Bearer ${token}' '${url}'`;

/** What is running, which token shows what, how to stop. */
export function demoScreen(facts: DemoFacts, { stdout, env }: CommandContext): string {
  const paint = (style: Style, text: string) => (hasColours(stdout, env) ? styled(style, text) : text);
  const endpoint = `${facts.baseUrl}${NEW_LEADS_PATH}`;
  const rows: [string, string | undefined][] = [
    ['Endpoint', endpoint],
    ['Reference', `${facts.baseUrl}/docs`],
    ['Metrics', facts.metricsUrl],
  ];
  const [first] = facts.callers;
  return [
    '',
    `${paint('bold', 'Leadtap demo')}  new leads on tap`,
    '',
    ...rows.flatMap(([name, url]) =>
      url ? [`  ${paint('dim', name.padEnd(10))} ${paint('cyan', url)}`] : [],
    ),
    ...facts.notes.map((note) => `  ${paint('yellow', note)}`),
    '',
    '  Soleil Roofing, a made-up company, gets a new lead every few seconds.',
    '  Paste one of these into another terminal:',
    ...facts.callers.flatMap(({ shows, token }) => [
      '',
      `  ${paint('bold', shows)}`,
      curl(`${endpoint}?limit=3`, token),
    ]),
    '',
    `  ${paint('bold', 'What came in since the demo began, oldest first, with all headers')}`,
    curl(`${endpoint}?since=${toIso(facts.startedAt)}`, first?.token ?? '', '-si'),
    '',
    `  ${paint('dim', 'Everything is in a temporary folder. Ctrl+C stops the demo and removes it.')}`,
    '',
    `  ${paint('bold', 'New leads')}`,
    '',
  ].join('\n');
}

export function leadLine(lead: LeadInput, createdAt: number): string {
  const place = [lead.branchId ?? 'no branch', lead.departmentId].filter(Boolean).join(' / ');
  const name = `${lead.fields.firstName ?? ''} ${lead.fields.lastName ?? ''}`;
  return `  ${toIso(createdAt)}  ${name.padEnd(20)} ${place}\n`;
}

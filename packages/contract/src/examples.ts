/** Samples of everything on the wire, for documentation, platforms and tests. */
import { exampleRequestId } from './headers.ts';
import { LEAD_FIELDS } from './lead-fields.ts';
import { PROBLEMS, type ProblemCode, problemType } from './problems.ts';
import { SINCE_EXAMPLE } from './query.ts';
import type {
  ConnectionLog,
  Connections,
  Hook,
  HookEvent,
  Lead,
  LeadConnections,
  Problem,
  SubscribedHook,
  WrittenLeads,
} from './schemas.ts';

/** A complete lead without nulls. */
export const sampleLead = Object.fromEntries(LEAD_FIELDS.map(({ name, sample }) => [name, sample])) as Lead;

/** What a test lead contains: a value in every field that a sender may set, and that it is a test. */
export function testLeadFrom(sender: string) {
  const note = `This is a test lead, made by ${sender}. It is not a real person.`;
  const samples = LEAD_FIELDS.filter((field) => field.default !== undefined);
  return {
    ...Object.fromEntries<unknown>(samples.map(({ name, sample }) => [name, sample])),
    firstName: 'Test',
    lastName: 'Lead',
    fullName: 'Test Lead',
    email: 'test.lead@example.com',
    addressNotes: note,
    customFields: { test: true, note },
  };
}

export const exampleNewLead = {
  id: 'web-4711',
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  phone1: '+33 6 12 34 56 78',
  customFields: { source: 'web form' },
};

export const exampleWrittenLeads: WrittenLeads = {
  leads: [{ id: exampleNewLead.id, createdAt: '2026-03-02T09:30:00.001Z', result: 'added' }],
};

const exampleConnectionHours = (leads: readonly number[]) =>
  Array.from({ length: 24 }, (_, index) => ({
    at: new Date(Date.UTC(2026, 2, 1, 10 + index)).toISOString(),
    leads: leads[index - 24 + leads.length] ?? 0,
    failed: 0,
    known: true,
  }));

export const exampleConnections: Connections = {
  since: '2026-02-26T08:00:00.000Z',
  level: 'good',
  message: '41 leads since Thursday 26 Feb. Slack has all.',
  leads: 41,
  in: [
    {
      ...{ id: 'Yq7fJm2Lk0sW3xRd', name: 'Website form', userId: 'ada', source: 'token' },
      ...{ level: 'good', message: '41 new, 3 updated (not sent again)', fix: null, action: null },
      ...{ state: 'working', stateSince: null, lastAt: '2026-03-02T09:30:00.001Z' },
      ...{ lastLeadAt: '2026-03-02T09:30:00.001Z', tokenExpiresAt: '2027-03-02T09:00:00.000Z' },
      ...{ added: 41, updated: 3, held: 0, lost: 0, hours: exampleConnectionHours([3, 0, 3]) },
    },
  ],
  out: [
    {
      ...{ id: '2Zk0o4uZ3xJt9XwQ', name: 'Slack', userId: 'ada', kind: 'poll', host: null },
      ...{ level: 'good', message: '41 sent', fix: null, action: null, state: 'working', stateSince: null },
      ...{ lastAt: '2026-03-02T09:30:12.000Z', tokenExpiresAt: '2027-03-02T09:00:00.000Z' },
      ...{ sent: 41, waiting: 0, waitingSince: null, missed: 0, endedAt: null },
      hours: exampleConnectionHours([3, 0, 3]),
    },
  ],
};

export const exampleLeadConnections: LeadConnections = {
  lead: sampleLead.id,
  out: [{ id: '2Zk0o4uZ3xJt9XwQ', name: 'Slack', state: 'sent', at: '2026-03-02T09:30:12.000Z', why: null }],
};

export const exampleConnectionLog: ConnectionLog = {
  name: 'Slack',
  log: [
    {
      ...{ at: '2026-03-02T09:30:12.000Z', firstAt: '2026-03-02T09:30:12.000Z', times: 1, kind: 'leads' },
      ...{ status: 200, code: null, leads: 1, leadIds: [sampleLead.id], durationMs: 3, reason: null },
      ...{ nextTryAt: null, fields: [], message: '1 lead', fix: null },
    },
    {
      ...{ at: '2026-03-02T09:28:12.000Z', firstAt: '2026-03-02T08:00:12.000Z', times: 45, kind: 'empty' },
      ...{ status: 200, code: null, leads: 0, leadIds: [], durationMs: 1, reason: null },
      ...{ nextTryAt: null, fields: [], message: '45 polls without new leads', fix: null },
    },
  ],
};

export const exampleHookRequest = {
  url: 'https://hooks.zapier.com/hooks/standard/1234/5678abcd/',
  name: 'Zapier, sales team',
};

export const exampleHookChange = { name: 'Zapier, service team' };

export const exampleSubscribedHook: SubscribedHook = {
  id: '8c1f0a62d94e4b7f9d3a5e60c27b1f48',
  ...exampleHookRequest,
  send: 'event',
  secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD2PUyYJPqIkI=',
  since: '2026-03-02T09:30:00.001Z',
  state: 'active',
};

export const exampleHook: Hook = {
  id: exampleSubscribedHook.id,
  url: exampleSubscribedHook.url,
  name: exampleSubscribedHook.name,
  send: exampleSubscribedHook.send,
  state: 'active',
  announcedThrough: '2026-03-02T09:31:40.217Z',
  lastEventAt: '2026-03-02T09:31:40.305Z',
  lastStatus: 200,
  failures: 0,
};

export const exampleHookEvent: HookEvent = {
  type: 'leads.available',
  timestamp: '2026-03-02T09:31:40.305Z',
  data: {
    hookId: exampleHook.id,
    since: exampleSubscribedHook.since,
    through: exampleHook.announcedThrough,
    poll: 'https://leads.example.com/automation/new-leads?since=2026-03-02T09:30:00.001Z&limit=100',
  },
};

const EXAMPLE_ERROR = `Give an ISO 8601 date-time, such as ${SINCE_EXAMPLE}.`;

export function exampleProblem(code: ProblemCode): Problem {
  const { status, title, detail } = PROBLEMS[code];
  const problem = { type: problemType(code), title, status, detail, code, requestId: exampleRequestId };
  if (code === 'invalid-query')
    return { ...problem, errors: [{ parameter: 'since', detail: EXAMPLE_ERROR }] };
  if (code === 'invalid-lead')
    return {
      ...problem,
      errors: [
        { index: 0, field: 'email', detail: '"ada" is not an e-mail address; write it like ada@example.com' },
      ],
    };
  if (code === 'rate-limit-exceeded') return { ...problem, violatedPolicies: ['minute'] };
  return problem;
}

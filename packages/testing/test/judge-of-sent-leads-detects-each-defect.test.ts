import { expect, it } from 'vitest';
import {
  judgeLeads,
  type LeadFindings,
  type LeadHistory,
  type LeadRequest,
} from '../delivery-trial/hooks/judge-leads.ts';

const lead = (number: number, branchName = 'north') => ({
  ...{ id: `acme-${number}`, branchName, createdAt: `2026-03-02T09:30:00.00${number}Z` },
});

/** The request of a lead, begun and arrived at its time. */
const request = (sent: LeadRequest['lead'], rest: Partial<LeadRequest> = {}): LeadRequest => {
  const at = Number(sent.id.split('-')[1]) * 10;
  return { webhookId: `msg-${sent.id}`, begunAt: at, arrivedAt: at, lead: sent, isAccepted: true, ...rest };
};

const judge = (requests: LeadRequest[], rest: Partial<LeadHistory> = {}, endedAt?: number): LeadFindings =>
  judgeLeads({
    ...{ client: 'client', companyId: 'acme', narrowings: [], erased: new Map() },
    subscriptions: [{ requests, ...(endedAt !== undefined && { endedAt }) }],
    guaranteed: [lead(1), lead(2), lead(3)],
    ...rest,
  });

const ALL = [request(lead(1)), request(lead(2)), request(lead(3))];
const NOTHING: LeadFindings = { lost: [], outOfOrder: [], otherIds: [], hidden: [] };

it('finds nothing if each lead comes in order, also if a request is repeated with its id', () => {
  expect(judge(ALL)).toEqual(NOTHING);
  const refused = request(lead(1), { isAccepted: false });
  expect(judge([refused, ...ALL, ...ALL.slice(1)])).toEqual(NOTHING);
  const isRefused = { isAccepted: false };
  const widened = [
    request(lead(1)),
    request(lead(3), isRefused),
    request(lead(2, 'south')),
    request(lead(3)),
  ];
  expect(judge(widened, { narrowings: [{ branchName: 'north', from: 0, until: 15 }] })).toEqual(NOTHING);
  // What was in flight when it was hidden, or was begun when it was visible again.
  const narrowings = [{ branchName: 'south', from: 10, until: 30 }];
  const hiddenMeanwhile = [request(lead(1)), request(lead(2, 'south')), request(lead(3))];
  expect(judge(hiddenMeanwhile, { narrowings, erased: new Map([['acme-3', 30]]) }, 30)).toEqual(NOTHING);
});

it.each<[string, LeadRequest[], Partial<LeadFindings>, Partial<LeadHistory>?, number?]>([
  ['a lead that never came', ALL.slice(1), { lost: ['client never got acme-1'] }],
  [
    'a lead that was never accepted',
    [request(lead(1), { isAccepted: false }), ...ALL.slice(1)],
    { lost: ['client never got acme-1'] },
  ],
  [
    'a lead that came after a later one',
    [...ALL.slice(1), request(lead(1))],
    { outOfOrder: ['client got acme-1 after a later lead'] },
  ],
  [
    'a repetition with another id',
    [...ALL, request(lead(3), { webhookId: 'other' })],
    { otherIds: ['client got acme-3 as msg-acme-3, then as other'] },
  ],
  [
    'a lead that was erased',
    ALL,
    { hidden: ['client got acme-3, which was erased'] },
    { erased: new Map([['acme-3', 29]]) },
  ],
  [
    'a lead of a branch that the user could not see',
    [...ALL, request(lead(4, 'south'))],
    { hidden: ['client got acme-4, which is of a branch that the user could not see'] },
    { narrowings: [{ branchName: 'north', from: 39, until: 41 }] },
  ],
  [
    'a lead of another company',
    [...ALL, request({ ...lead(4), id: 'globex-4' })],
    { hidden: ['client got globex-4, which is of another company'] },
  ],
  [
    'a request after the revocation of the token',
    ALL,
    { hidden: ['client got a request after its token was revoked'] },
    {},
    29,
  ],
])('finds %s', (_name, requests, findings, rest, endedAt) => {
  expect(judge(requests, rest, endedAt)).toEqual({ ...NOTHING, ...findings });
});

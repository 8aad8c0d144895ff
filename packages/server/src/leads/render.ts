import { hash } from 'node:crypto';
import type { Lead } from '@leadtap/contract';
import { toIso } from '../clock.ts';
import { joined } from '../joined-bytes.ts';
import type { LeadRecord } from '../store/records.ts';

/** The 24 fields of the contract, in its order. */
const toWire = (lead: LeadRecord): Lead => ({
  id: lead.id,
  firstName: lead.firstName,
  lastName: lead.lastName,
  fullName: lead.fullName ?? joinNames(lead),
  phone1: lead.phone1,
  phone2: lead.phone2,
  email: lead.email,
  address: lead.address,
  postalCode: lead.postalCode,
  addressNotes: lead.addressNotes,
  appointmentDateTime: lead.appointmentDateTime === null ? null : toIso(lead.appointmentDateTime),
  timeslot: lead.timeslot,
  statusValue: lead.status.value,
  status: lead.status,
  customFields: lead.customFields,
  images: [...lead.images],
  sameDay: lead.sameDay,
  createdAt: toIso(lead.createdAt),
  updatedAt: toIso(lead.updatedAt),
  companyName: lead.companyName,
  branchName: lead.branchName,
  departmentName: lead.departmentName,
  automation_trigger_id: lead.automationTriggerId,
  automation_created_at: toIso(lead.automationCreatedAt),
});

const joinNames = ({ firstName, lastName }: LeadRecord): string =>
  [firstName, lastName].filter((name) => name !== null && name !== '').join(' ');

export const renderLead = (lead: LeadRecord): string => JSON.stringify(toWire(lead));

/** Rendered leads: the response body, and the values that headers, metrics and log take from it. */
export interface RenderedLeads {
  /** JSON. */
  readonly body: Buffer;
  readonly etag: string;
  readonly count: number;
  /** The `createdAt` of the first and of the last lead in the body; undefined if it is empty. */
  readonly first: number | undefined;
  readonly last: number | undefined;
}

export const renderLeads = (leads: readonly LeadRecord[]): RenderedLeads =>
  leads.length === 0
    ? NO_LEADS
    : asRendered(joined([Buffer.from(`[${leads.map(renderLead).join(',')}]`)]), {
        count: leads.length,
        first: leads[0]?.createdAt,
        last: leads.at(-1)?.createdAt,
      });

/** A strong validator (RFC 9110): a hash of the bytes. */
export const entityTag = (body: string | Buffer): string =>
  `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;

/** Adds the entity tag to a JSON array. */
export const asRendered = (body: Buffer, about: Omit<RenderedLeads, 'body' | 'etag'>): RenderedLeads => ({
  body,
  etag: entityTag(body),
  ...about,
});

export const NO_LEADS: RenderedLeads = asRendered(Buffer.from('[]'), {
  count: 0,
  first: undefined,
  last: undefined,
});

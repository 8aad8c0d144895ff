import type { Lead } from '@leadtap/contract';
import { toIso } from '../clock.ts';
import type { LeadRecord } from '../store/records.ts';

/** The lead as the wire shows it: the 24 fields of the contract, in its order. */
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

export const renderPage = (leads: readonly LeadRecord[]): string => JSON.stringify(leads.map(toWire));

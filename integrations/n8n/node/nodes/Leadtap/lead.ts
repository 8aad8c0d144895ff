import type { Lead } from '@leadtap/contract';
import type { IDataObject } from 'n8n-workflow';

/** A lead as the service sent it, with fields that later versions may add. */
export type ReceivedLead = IDataObject & Pick<Lead, 'createdAt'>;

/** What most workflows need, under the names that the whole lead has, so that expressions survive the switch. */
const SIMPLIFIED = [
  'id',
  'firstName',
  'lastName',
  'fullName',
  'email',
  'phone1',
  'address',
  'postalCode',
  'appointmentDateTime',
  'statusValue',
  'customFields',
  'createdAt',
  'automation_trigger_id',
] as const satisfies readonly (keyof Lead)[];

export const simplify = (lead: IDataObject): IDataObject =>
  Object.fromEntries(SIMPLIFIED.map((field) => [field, lead[field]]));

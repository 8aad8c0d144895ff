import type { Lead } from '@leadtap/contract';
import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import type { Context } from './page.ts';

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

const simplify = (lead: IDataObject): IDataObject =>
  Object.fromEntries(SIMPLIFIED.map((field) => [field, lead[field]]));

export const isSimplified = (context: Context): boolean => context.getNodeParameter('simplify') as boolean;

/** The leads as n8n passes them on, with the fields that the user has chosen. */
export const itemsOf = (
  context: Context,
  leads: readonly IDataObject[],
  simplified = isSimplified(context),
): INodeExecutionData[] => context.helpers.returnJsonArray(simplified ? leads.map(simplify) : [...leads]);

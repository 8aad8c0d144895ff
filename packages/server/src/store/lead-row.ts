import type { LeadFields, LeadRecord } from './records.ts';

/** The columns that hold `LeadFields`, with times in milliseconds. */
export interface LeadFieldsRow {
  first_name: string | null;
  last_name: string | null;
  full_name: string | null;
  phone1: string | null;
  phone2: string | null;
  email: string | null;
  address: string | null;
  postal_code: string | null;
  address_notes: string | null;
  appointment_date_time: number | null;
  timeslot: string | null;
  custom_fields: Record<string, unknown>;
  images: string[];
  same_day: boolean;
}

/** A lead as a page of it is read: with the names that its status and places have. */
export interface LeadRow extends LeadFieldsRow {
  id: string;
  status_value: string;
  status_label: string;
  status_color: string;
  status_final: boolean;
  company_name: string;
  branch_name: string | null;
  department_name: string | null;
  created_at: number;
  updated_at: number;
  automation_trigger_id: string;
  automation_created_at: number;
}

export const toLeadRecord = (row: LeadRow): LeadRecord => ({
  id: row.id,
  ...toLeadFields(row),
  status: {
    value: row.status_value,
    label: row.status_label,
    color: row.status_color,
    final: row.status_final,
  },
  companyName: row.company_name,
  branchName: row.branch_name,
  departmentName: row.department_name,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  automationTriggerId: row.automation_trigger_id,
  automationCreatedAt: row.automation_created_at,
});

export const toLeadFields = (row: LeadFieldsRow): LeadFields => ({
  firstName: row.first_name,
  lastName: row.last_name,
  fullName: row.full_name,
  phone1: row.phone1,
  phone2: row.phone2,
  email: row.email,
  address: row.address,
  postalCode: row.postal_code,
  addressNotes: row.address_notes,
  appointmentDateTime: row.appointment_date_time,
  timeslot: row.timeslot,
  customFields: row.custom_fields,
  images: row.images,
  sameDay: row.same_day,
});

export const toLeadFieldsRow = (fields: LeadFields): LeadFieldsRow => ({
  first_name: fields.firstName,
  last_name: fields.lastName,
  full_name: fields.fullName,
  phone1: fields.phone1,
  phone2: fields.phone2,
  email: fields.email,
  address: fields.address,
  postal_code: fields.postalCode,
  address_notes: fields.addressNotes,
  appointment_date_time: fields.appointmentDateTime,
  timeslot: fields.timeslot,
  custom_fields: fields.customFields,
  images: [...fields.images],
  same_day: fields.sameDay,
});

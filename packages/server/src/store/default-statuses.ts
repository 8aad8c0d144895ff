import type { Status } from './records.ts';

/** The catalogue of a company that brings none of its own. */
export const DEFAULT_STATUSES: readonly Status[] = [
  { value: 'NEW', label: 'New', color: '#2563eb', final: false },
  { value: 'CONTACTED', label: 'Contacted', color: '#7c3aed', final: false },
  { value: 'APPOINTMENT', label: 'Appointment', color: '#d97706', final: false },
  { value: 'QUOTED', label: 'Quoted', color: '#0891b2', final: false },
  { value: 'WON', label: 'Won', color: '#16a34a', final: true },
  { value: 'LOST', label: 'Lost', color: '#6b7280', final: true },
];

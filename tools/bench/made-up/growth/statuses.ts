/** The catalogue that a company gets which brings none of its own, as rows of SQL. */
export const STATUSES = [
  `('NEW', 'New', '#2563eb', false, 0)`,
  `('CONTACTED', 'Contacted', '#7c3aed', false, 1)`,
  `('APPOINTMENT', 'Appointment', '#d97706', false, 2)`,
  `('QUOTED', 'Quoted', '#0891b2', false, 3)`,
  `('WON', 'Won', '#16a34a', true, 4)`,
  `('LOST', 'Lost', '#6b7280', true, 5)`,
].join(', ');

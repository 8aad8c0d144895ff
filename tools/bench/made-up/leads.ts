import { companyId } from './organisation.ts';

/** As often as this a company has a new lead. */
export const LEAD_EVERY_MS = 10 * 60_000;

/**
 * One NDJSON line, of the size that real leads have: about 750 bytes when it is answered. Companies take turns; within a
 * company, so do north and south.
 */
export function leadLine(n: number, companies: number, createdAt?: string): string {
  const position = Math.floor(n / companies);
  const north = position % 2 === 0;
  return JSON.stringify({
    companyId: companyId(n % companies),
    branchId: north ? 'north' : 'south',
    departmentId: north ? 'repairs' : 'sales',
    firstName: `First${n % 997}`,
    lastName: `Last${n % 1009}`,
    phone1: `+33 1 99 00 ${n % 100} ${n % 89}`,
    email: `contact-${n}@mail.example`,
    address: `${n % 200} Rue des Lilas`,
    postalCode: `69${String(n % 999).padStart(3, '0')}`,
    appointmentDateTime: position % 3 === 0 ? '2026-03-05T14:00:00.000Z' : null,
    customFields: position % 5 < 3 ? { source: 'website' } : {},
    images: position % 7 === 0 ? [`https://images.example.com/${n}.jpg`] : [],
    sameDay: n % 5 === 0,
    createdAt,
  });
}

/**
 * History for `leadtap leads import --historical`: the last lead of every company is an hour old. In chunks of many
 * lines: a chunk a line would measure the pipe, not the import.
 */
export function* leadHistory(leads: number, companies: number): Generator<string> {
  const chunk = 500;
  const first = Date.now() - 3600_000 - Math.ceil(leads / companies) * LEAD_EVERY_MS;
  const line = (n: number) =>
    leadLine(n, companies, new Date(first + Math.floor(n / companies) * LEAD_EVERY_MS).toISOString());
  for (let from = 0; from < leads; from += chunk) {
    const length = Math.min(chunk, leads - from);
    yield `${Array.from({ length }, (_, i) => line(from + i)).join('\n')}\n`;
  }
}

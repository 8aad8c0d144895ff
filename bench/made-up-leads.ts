/** Companies, users and leads in any number, the same ones every time. */

export interface Size {
  readonly companies: number;
  readonly usersPerCompany: number;
}

const pad = (n: number) => String(n).padStart(4, '0');

export const companyId = (n: number): string => `company-${pad(n)}`;
export const userId = (company: number, n: number): string => `user-${pad(company)}-${pad(n)}`;

export function organisation({ companies, usersPerCompany }: Size): object {
  return {
    companies: Array.from({ length: companies }, (_, company) => ({
      id: companyId(company),
      name: `Company ${company}`,
      branches: [
        { id: 'north', name: 'North', departments: [{ id: 'repairs', name: 'Repairs' }] },
        { id: 'south', name: 'South', departments: [{ id: 'sales', name: 'Sales' }] },
      ],
      users: Array.from({ length: usersPerCompany }, (_, n) => ({
        id: userId(company, n),
        email: `${userId(company, n)}@example.com`,
        name: `User ${n}`,
        plan: 'PROFESSIONAL',
        accessLevel: 'COMPANY',
      })),
    })),
  };
}

/** One NDJSON line, of the size that real leads have: about 700 bytes when rendered. */
function leadLine(n: number, companies: number): string {
  const repairs = n % 2 === 0;
  return JSON.stringify({
    companyId: companyId(n % companies),
    branchId: repairs ? 'north' : 'south',
    departmentId: repairs ? 'repairs' : 'sales',
    firstName: `First${n % 997}`,
    lastName: `Last${n % 1009}`,
    phone1: `+33 1 99 00 ${n % 100} ${n % 89}`,
    email: `contact-${n}@mail.example`,
    address: `${n % 200} Rue des Lilas, Lyon`,
    postalCode: `69${pad(n % 999).slice(1)}`,
    appointmentDateTime: '2026-03-05T14:00:00.000Z',
    timeslot: '14:00',
    customFields: { source: 'website', roofArea: n % 160, campaign: 'spring' },
    images: [`https://images.example.com/${n}.jpg`],
    sameDay: n % 5 === 0,
  });
}

/** Chunks of many lines: a chunk a line would measure the pipe, not the import. */
export function* leadChunks(leads: number, companies: number): Generator<string> {
  const chunk = 500;
  for (let from = 0; from < leads; from += chunk) {
    const length = Math.min(chunk, leads - from);
    yield `${Array.from({ length }, (_, i) => leadLine(from + i, companies)).join('\n')}\n`;
  }
}

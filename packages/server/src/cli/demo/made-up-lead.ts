import type { LeadInput } from '../../store/records.ts';

const FIRST_NAMES = ['Alma', 'Basile', 'Chiara', 'Dario', 'Elif', 'Femke', 'Goran', 'Hana', 'Ines'] as const;
const LAST_NAMES = ['Moreau', 'Okafor', 'Lindqvist', 'Rossi', 'Nowak', 'Dubois', 'Yilmaz', 'Costa'] as const;
const STREETS = [
  'Rue des Lilas',
  'Quai Perrache',
  'Avenue Foch',
  'Rue Nationale',
  'Place du Marché',
] as const;
const SOURCES = ['website', 'phone', 'referral', 'fair'] as const;
type NotEmpty<T> = readonly [T, ...T[]];
/** Some leads have no branch yet, some no department: each access level then sees another part. */
const PLACES: NotEmpty<Pick<LeadInput, 'branchId' | 'departmentId'>> = [
  { branchId: 'lyon', departmentId: 'lyon-repairs' },
  { branchId: 'lyon', departmentId: 'lyon-repairs' },
  { branchId: 'lyon', departmentId: 'lyon-new' },
  { branchId: 'lyon' },
  { branchId: 'lille', departmentId: 'lille-solar' },
  {},
];

/** Invents an enquiry. `random` gives numbers from 0 up to 1. */
export function madeUpLead(random: () => number, now: number): LeadInput {
  const whole = (below: number) => Math.floor(random() * below);
  const pick = <T>(list: NotEmpty<T>): T => list[whole(list.length)] ?? list[0];
  const firstName = pick(FIRST_NAMES);
  const lastName = pick(LAST_NAMES);
  const hour = 8 + whole(10);
  return {
    companyId: 'soleil',
    ...pick(PLACES),
    fields: {
      firstName,
      lastName,
      phone1: `+33 1 99 00 ${10 + whole(90)} ${10 + whole(90)}`,
      email: `${firstName}.${lastName}@mail.example`.toLowerCase(),
      address: `${1 + whole(120)} ${pick(STREETS)}`,
      postalCode: String(69_001 + whole(9)),
      appointmentDateTime: Math.floor(now / 86_400_000 + 1 + whole(7)) * 86_400_000 + hour * 3_600_000,
      timeslot: `${String(hour).padStart(2, '0')}:00`,
      sameDay: random() < 0.2,
      customFields: { source: pick(SOURCES), roofArea: 40 + whole(160) },
      images: random() < 0.3 ? [`https://images.example/roof-${whole(1000)}.jpg`] : [],
    },
  };
}

interface SinceForm {
  readonly form: string;
  readonly example: string;
  /** The moment that the example names, as Leadtap reads it. */
  readonly readAs: string;
}

/** Every form of `since` that is accepted, with an example of each: for documentation and tests. */
export const SINCE_FORMS: readonly SinceForm[] = [
  { form: 'UTC', example: '2026-03-02T09:30:00.000Z', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'any offset', example: '2026-03-02T11:30:00+02:00', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'offset without a colon', example: '2026-03-02T04:30:00-0500', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'offset of hours alone', example: '2026-03-02T11:30:00+02', readAs: '2026-03-02T09:30:00.000Z' },
  {
    form: 'un-encoded `+`, which arrives as a space',
    example: '2026-03-02T11:30:00 02:00',
    readAs: '2026-03-02T09:30:00.000Z',
  },
  { form: 'no offset: read as UTC', example: '2026-03-02T09:30:00', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'date alone: midnight UTC', example: '2026-03-02', readAs: '2026-03-02T00:00:00.000Z' },
  {
    form: 'up to 9 fraction digits: cut to milliseconds',
    example: '2026-03-02T09:30:00.123987654Z',
    readAs: '2026-03-02T09:30:00.123Z',
  },
  { form: 'space instead of `T`', example: '2026-03-02 09:30:00Z', readAs: '2026-03-02T09:30:00.000Z' },
  { form: 'lower-case letters', example: '2026-03-02t09:30:00z', readAs: '2026-03-02T09:30:00.000Z' },
];

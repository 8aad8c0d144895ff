import type { User } from '../store/records.ts';

/** The interface is public, but polling is part of one plan. */
export const mayPoll = (user: User): boolean => user.plan === 'PROFESSIONAL';

/**
 * What every store must do, as checks for any test runner. `docs/store-adapters.md` shows how to run them.
 *
 * @example
 * for (const check of storeConformance) test(check.name, () => check.run(makeDatabase));
 *
 * @module
 */
import type { ConformanceCheck } from './conformance/check.ts';
import { completenessChecks } from './conformance/completeness.ts';
import { contentChecks } from './conformance/content.ts';
import { databaseChecks } from './conformance/database.ts';
import { deletedLeadChecks } from './conformance/deleted-leads.ts';
import { historyChecks } from './conformance/history.ts';
import { organisationChecks } from './conformance/organisation.ts';
import { pageChecks } from './conformance/pages.ts';
import { placementChecks } from './conformance/placement.ts';
import { stampChecks } from './conformance/stamps.ts';
import { tokenChecks } from './conformance/tokens.ts';
import { updateChecks } from './conformance/updates.ts';
import { userChecks } from './conformance/users.ts';
import { watchingChecks } from './conformance/watching.ts';

export type { ConformanceCheck, MakeDatabase, TestDatabase } from './conformance/check.ts';

export const storeConformance: readonly ConformanceCheck[] = [
  ...databaseChecks,
  ...organisationChecks,
  ...userChecks,
  ...tokenChecks,
  ...placementChecks,
  ...contentChecks,
  ...pageChecks,
  ...stampChecks,
  ...completenessChecks,
  ...updateChecks,
  ...deletedLeadChecks,
  ...historyChecks,
  ...watchingChecks,
];

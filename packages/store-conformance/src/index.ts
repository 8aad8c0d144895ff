/** The checks that both stores must pass. */

import { allOrNothingChecks } from './all-or-nothing.ts';
import { changeTrackingChecks } from './change-tracking.ts';
import type { ConformanceCheck } from './check.ts';
import { completenessChecks } from './completeness.ts';
import { contentChecks } from './content.ts';
import { databaseChecks } from './database.ts';
import { deletedLeadChecks } from './deleted-leads.ts';
import { erasedLeadChecks } from './erased-leads.ts';
import { historyChecks } from './history.ts';
import { hookChecks } from './hooks.ts';
import { listChecks } from './lists.ts';
import { organisationChecks } from './organisation.ts';
import { pageChecks } from './pages.ts';
import { placementChecks } from './placement.ts';
import { refusedLeadChecks } from './refused-leads.ts';
import { searchChecks } from './search.ts';
import { stampChecks } from './stamps.ts';
import { tokenChecks } from './tokens.ts';
import { updateChecks } from './updates.ts';
import { userChecks } from './users.ts';

export type { ConformanceCheck, MakeDatabase, TestDatabase } from './check.ts';

export const storeConformance: readonly ConformanceCheck[] = [
  ...databaseChecks,
  ...organisationChecks,
  ...userChecks,
  ...tokenChecks,
  ...placementChecks,
  ...allOrNothingChecks,
  ...contentChecks,
  ...pageChecks,
  ...stampChecks,
  ...completenessChecks,
  ...updateChecks,
  ...deletedLeadChecks,
  ...erasedLeadChecks,
  ...historyChecks,
  ...listChecks,
  ...searchChecks,
  ...hookChecks,
  ...refusedLeadChecks,
  ...changeTrackingChecks,
];

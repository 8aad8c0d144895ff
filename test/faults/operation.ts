/** What an operator relies on: log, metrics, alerts, deletion, backups. */
import type { Fault } from './fault.ts';

export const OPERATION: readonly Fault[] = [
  {
    name: 'query-is-in-the-log',
    breaks: 'Personal data and tokens that stand in a query string get into the log.',
    file: 'packages/server/src/http/exchange.ts',
    find: '    path: route,\n    status: exchange.status,',
    replace: '    path: request.url,\n    status: exchange.status,',
    owner: 'packages/server/test/operations/log-lines-have-no-personal-data.test.ts',
  },
  {
    name: 'metric-counts-pages',
    breaks: 'leadtap_leads_delivered_total counts pages instead of leads.',
    file: 'packages/server/src/ops/metrics.ts',
    find: 'leads.inc(observation.leads)',
    replace: 'leads.inc()',
    owner: 'packages/server/test/operations/metrics.test.ts',
  },
  {
    name: 'alert-is-repeated-within-the-hour',
    breaks: 'What gets red and good by turns sends an alert more often than once an hour.',
    file: 'packages/server/src/status/alerts.ts',
    find: 'const REPEAT_MS = 3_600_000;',
    replace: 'const REPEAT_MS = 3_599_999;',
    owner: 'packages/server/test/status/problems-are-sent-to-the-alert-url.test.ts',
  },
  {
    name: 'second-phone-is-not-erased',
    breaks: 'A person who is erased by phone number stays in leads that have it as the second one.',
    file: 'packages/server/src/leads/removal-sql.ts',
    find: '[phone1, phone2].some(',
    replace: '[phone1].some(',
    owner: 'packages/server/test/store/leads-erase.test.ts',
  },
  {
    name: 'prune-deletes-one-too-many',
    breaks: 'Pruning deletes a lead that is exactly as old as it may be.',
    file: 'packages/server/src/leads/removal-sql.ts',
    find: 'o.company_id = $1 AND o.created_at < leadtap.from_ms($2)',
    replace: 'o.company_id = $1 AND o.created_at <= leadtap.from_ms($2)',
    owner: 'packages/server/test/cli/leads-prune.test.ts',
  },
  {
    name: 'damaged-copy-is-a-backup',
    breaks: 'A backup that SQLite finds damaged is kept, and reported as a success.',
    file: 'packages/server/src/store/sqlite/backup.ts',
    find: "fault !== 'ok'",
    replace: "fault === ''",
    owner: 'packages/server/test/store/sqlite/backup-copies-a-served-database.test.ts',
  },
  {
    name: 'another-schema-is-used',
    breaks: 'A database that another version made with another schema is used.',
    file: 'packages/server/src/store/migrations.ts',
    find: 'migrations[index].checksum !== checksum',
    replace: 'migrations[index].version !== version',
    owner: 'packages/server/test/store/databases-of-other-versions-are-refused.test.ts',
  },
];

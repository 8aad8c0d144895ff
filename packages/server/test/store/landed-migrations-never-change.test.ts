import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { readMigrations } from '../../src/migration-files.ts';
import { renderLeadFunctions } from '../../src/store/postgres/lead-functions.ts';

/** Add a line for each new migration. A line that is here never changes: databases have its checksum. */
const CHECKSUMS = {
  sqlite: {
    '0001_foundation.sql': '36e1ed6ae75ac503fac896df8bc671709f0a72846df35ca278cfe3108da0766c',
    '0002_token_scopes.sql': 'd82ec01a2f34a21649df3170d1c2357ce3cde8e052dd4fb8c7f8a29f8fbf76c9',
    '0003_erased_leads.sql': '27a6c341d984f6d41fe0d1758700f69f23c32ee89adce547aaec28c8ceb962c8',
    '0004_consumers.sql': '1881b07f2a61749c18eb9a1c942929f2e638f2d9cb594adfee1cf7df2303b990',
    '0005_migration_checksums.sql': 'cbf022c52eb2ea9d0d93cef9b87cae6dbad58a68fa18aa8537c64d68f30f2043',
    '0006_write_only_tokens.sql': 'c8411731e6cdd4988819167c8690a28088865d4a7aa6060440d3a6b53ca733f5',
    '0007_idempotency_keys.sql': 'e46e21869dba063f5f13b2bb2a047f72872a4d96ebf1fed4814550c7252e56c7',
    '0008_hooks.sql': 'd9907b25991a27b560afdf7ac99202ebf9a36e8982fd65e64cd180272e7e6413',
    '0009_consumer_gaps.sql': '1458d73b932b68364f563c8b70e511d2e798d3f3c7c7ab3220e751012758a976',
    '0010_token_keys.sql': '137ada8f8f1d2f81ddaf26dbd637b0c8b9bdcca7eff67f8cc6cb25bf080e7bfd',
    '0011_confirmed_at.sql': 'ffacb9fa813a999816c2ed89e576a0c648107b14275a92583d21b9c520ebd7bf',
  },
  postgres: {
    '0001_tables.sql': '25abbec20d4a3c28172add738fddc6224c57620eb18c4e83abd86f970c6ee8ff',
    '0002_stamps.sql': '67f34ad14c4eb03f613de588a9ca3d1693bd01f0655bc6b88905985b1cac4541',
    '0003_change_log.sql': 'e232a0502cd98c755704aa0f182c4e6fa55bea6e45a6c2248d7f94ff0916fcc1',
    '0004_polls.sql': '96a96d0a14a47a8342dddcf555e0003149644a6ff85f704b9049e0d6d2571227',
    '0005_token_scopes.sql': '7145888a86a285d4274d72abc12e5fc9d87001bf1aa084f0484c3572518f55b0',
    '0006_erased_leads.sql': '72b4e4b7a98e99297da0d353ca1f84c62765382532e5bca1e1c5002699d520c1',
    '0007_consumers.sql': '0ceba172921cd6cec098f4781353fb69504c7b19dfad69289ab8ba3694aea432',
    '0008_account_locks.sql': '7396b633b484c3ecaf05f24250b0d5da71af02e2b54c61bc36804a7fc305bddc',
    '0009_migration_checksums.sql': '95fdd942bc26e6826b64acfe97867626d0843fdacbabe2913c6567d8f3f6244e',
    '0010_history_limit.sql': 'c2f01ea3b74a8007bc1ce258a09d6336d2c9fd4aa40278deffec168c55aeae21',
    '0011_idempotency_keys.sql': 'b55da64b8e6461302df1f036b095d5ef878bfebfec199547a720bd3053f7dc23',
    '0012_custom_fields_size.sql': '8b02a183181721ead9d25f698163a5a6d9518b29c0620f161ea85e380a2e4708',
    '0013_hooks.sql': 'a1e4438e0419a6b3c2c9553dd5b9482bf944aee62177e7cd931894451bd6debe',
    '0014_consumer_gaps.sql': 'dedadd8adf04d45c9020512461067972a0c36d4490fd6f7f86e29de33d30f626',
    '0015_token_keys.sql': '5e4959d5a9e480b52ef33c37092a0533925091fd83bd4269e38382191778c768',
    '0016_confirmed_at.sql': 'e3c544e35fab257baf195e67dccfc2a6d8565fd8261ae3081789a4a4e70aa217',
  },
} as const;

/**
 * The SHA-256 of the functions that are created again after migrations, by the migration that brings them to databases. After a
 * change, add a line with a new migration. The lines before it never change.
 */
const LEAD_FUNCTIONS = {
  '0011_idempotency_keys.sql': '8a7bc212edc363945fa5e9433bd13a17e5ebace6496de411cabc5e9188b1346a',
  '0015_token_keys.sql': 'f2281c400d7ed567d2959a827f8cb88646992fe0b8fe9c24730d220341f28c4b',
} as const;

test('a change of the functions of leads has a migration that brings it to databases', () => {
  const sql = renderLeadFunctions(new URL('../../src/store/postgres/', import.meta.url));
  const checksum = createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex');
  const [migration, pinned] = Object.entries(LEAD_FUNCTIONS).at(-1) ?? [];
  expect(checksum).toBe(pinned);
  expect(Object.keys(CHECKSUMS.postgres)).toContain(migration);
});

test.each(['sqlite', 'postgres'] as const)('the migrations of %s are those that were released', (engine) => {
  const migrations = readMigrations(new URL(`../../src/store/${engine}/migrations/`, import.meta.url));
  const found = Object.fromEntries(migrations.map(({ name, checksum }) => [name, checksum]));
  expect(found).toEqual(CHECKSUMS[engine]);
  expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, index) => index + 1));
});

test('a checkout with CRLF line ends has the same checksums', () => {
  const checksums = ['\n', '\r\n'].map((end) => {
    const folder = join(tempFolder(), 'migrations/');
    mkdirSync(folder);
    writeFileSync(join(folder, '0001_a.sql'), `SELECT 1;${end}SELECT 2;${end}`);
    return readMigrations(pathToFileURL(folder)).map(({ checksum }) => checksum);
  });
  expect(checksums[0]).toHaveLength(1);
  expect(checksums[0]).toEqual(checksums[1]);
});

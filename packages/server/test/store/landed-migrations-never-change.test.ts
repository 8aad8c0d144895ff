import { hash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { readMigrations } from '../../src/store/migrations.ts';
import { renderLeadFunctions } from '../../src/store/postgres/lead-functions.ts';

/** Add a line for each new migration. A line that is here never changes: databases have its checksum. */
const CHECKSUMS = {
  sqlite: {
    '0001_schema.sql': '226cdff393fa9141831f4a37a6ddec5c7d42d58a447444a0e699df2222f48bde',
    '0002_hooks_that_carry_leads.sql': '764c9c3d85a97ec2fcdf3cc4a02d5f84bbde4306793e59150c477c926a7c28e8',
    '0003_hooks_send_needs_0003.sql': '434cf51e81eab6a62aed173bacc352717f4f5ba8e47aea8ebb4742412d565863',
    '0004_keys_of_hooks.sql': 'c456126bd6feedce780df2eacfb80382e4a21c62848f37700a35b509f6dbe25d',
    '0005_refused_leads.sql': 'd84d3abf954eb11f58a0bee67b2dc2860a3f5d725c9ffaf8766ed312987cc450',
    '0006_senders.sql': 'd5110f5b9e2dc3537b3d53eb90bfcf22f6353110bd141cff07d79842697b980a',
    '0007_moved_leads.sql': 'f52d8dc72085b76f5ea38f02efe2fb00f80130683f3220a545c9ac36b72ab97c',
    '0008_scopes_of_consumers.sql': '650322e9954304d398c64039aa824aa62d65b6ba2c7dc9bcc54ad6084b5bfde4',
    '0009_names_of_hooks.sql': 'b9e62a4a983aa994e09aa2c5e8a5fa39d158992b3dab3dc6bc43bacf3b7c5d86',
    '0010_attempts.sql': '460646b5b9327a00e767636565a132bd2647ce3f0e660f0e8d5351e379ac3ec2',
    '0011_scopes_of_hooks.sql': '98f16a5cc5b5c8975265e92a152f90165533806fa1c2436c410dc216786c982a',
    '0012_refused_lead_summaries.sql': '4f8e2ff5e5b99ede9a080cbb25ef355cea98624ec62dd9653a3a2b75ebe2ccbe',
    '0013_ended_consumers.sql': '4a80db8a3a3d862979e9438ec3a15c8ff87e23730f8eeda635190c3b4243f91d',
    '0014_leads_of_history.sql': '4cb7296558a123876af1f1c62a14077335620bbc96d4ad832ed84f274b56c3de',
    '0015_hours.sql': 'a3213043cef2890d031df5cf5ef72f2b249d5e189574ec56afabd72e027f52b7',
    '0016_senders_of_removed_users.sql': '7570e91eebfde5c8915086db1205684f6bc9c5a3ae2ad9151dddeb32eac79a89',
  },
  postgres: {
    '0001_schema.sql': '3e39abd719d5b8123ec5b774cae4aed281039e0408686d4471bb7b667ebcd1fd',
    '0002_functions_for_speed.sql': 'c4bfa7d1e9ff62426c8138bf29915f127dfa4372b25174619d9736ea0443becf',
    '0003_hooks_that_carry_leads.sql': '005e06031d6cd7df7011ceee4e59174249620718bee65ce30c0f35854c101391',
    '0004_hooks_send_needs_0004.sql': '333d64ac7613e70ea1c2d0a6d9a12d21d64463e0df77e4ab29ec813d0b592447',
    '0005_keys_of_hooks.sql': '4266c27218d101b9a6e9d2fe82c4bc1d251e67397bbdcf59d49c7559d4f26f0b',
    '0006_refused_leads.sql': 'a8e39d83e486f4863215427cabe39ee84433f461e0f7252eac506ced273f12e8',
    '0007_senders.sql': 'fd61ba4639f96c70256ba6ba22e32fdd2720bce08ca57d03288a619de681af79',
    '0008_moved_leads.sql': '23fc88189335f9328d567ec0a33abe7c4d2bf382d8adf1f265cfb397d9bc18a5',
    '0009_scopes_of_consumers.sql': 'ffa608b29e79d3b357f1ba031fa15bfac7adbfe22adc6f180c0cc35ce3ff405c',
    '0010_names_of_hooks.sql': '9c8823de82784c985abc7216f764a1a8691889b9e84372eb39cd338290bcdac3',
    '0011_attempts.sql': '7dc9764cd8a105119803d7f678014ccfab7261a02f2cd909fcceca5cf6ba9d18',
    '0012_scopes_of_hooks.sql': '4f4bed7d382b97f649e3739023f28a8f3988b2bc22bc42c4bdb58cfd9e62bc33',
    '0013_refused_lead_summaries.sql': '5da4c52b521ddd256cde08daa026f67f21195c2c9de86408e3f6518e0a76c42c',
    '0014_ended_consumers.sql': 'a63c900658c319586cc16159f412a8abfba8ffe1205ea359dc0d1b08e278950e',
    '0015_leads_of_history.sql': '88edc628db8b6058e2a91d781f04e32635705df50d5f861566d1e74b1e2f424e',
    '0016_hours.sql': 'd4e96f08806204a3511da179b71446bdc06e03c06c83e46c4009363c7596bca6',
    '0017_senders_of_removed_users.sql': '4e11ce6718cd68e62afb1be5ff878f8667657a9fd2a3d14e5fe814ff78c15035',
  },
} as const;

/**
 * The SHA-256 of the functions that are created again with migrations, by the migration that brings them to databases. After a
 * change, add a line with a new migration. The lines before it never change.
 */
const LEAD_FUNCTIONS = {
  '0001_schema.sql': 'c9e8aa601dd5af933aba97d99d20476599613860bc778d5722bfa71c7afa8848',
  '0002_functions_for_speed.sql': 'c7e2b8de347edb71029fc9679fd38e63a30702251817354e61d9a266baed5ac3',
  '0004_hooks_send_needs_0004.sql': '3c579e4a37ed1213d9130b795923cf352bd8cebe9a7a4492d5e23dadfde852bd',
} as const;

const migrationsOf = (engine: 'sqlite' | 'postgres') =>
  readMigrations(new URL(`../../src/store/${engine}/migrations/`, import.meta.url));

test('a change of the functions of leads has a migration that brings it to databases', () => {
  const sql = renderLeadFunctions(new URL('../../src/store/postgres/', import.meta.url));
  const checksum = hash('sha256', sql.replaceAll('\r\n', '\n'));
  const newest = migrationsOf('postgres').at(-1)?.name;
  const pinned = Object.entries(LEAD_FUNCTIONS).at(-1);
  const isPinned = pinned?.[1] === checksum && pinned[0] in CHECKSUMS.postgres;
  expect(isPinned ? undefined : `add the line '${newest}': '${checksum}' to LEAD_FUNCTIONS`).toBe(undefined);
});

test.each(['sqlite', 'postgres'] as const)('the migrations of %s are those that were released', (engine) => {
  const migrations = migrationsOf(engine);
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

test('a folder in which a migration is missing is refused', () => {
  const folder = tempFolder();
  for (const name of ['0001_a.sql', '0003_c.sql']) writeFileSync(join(folder, name), 'SELECT 1;');
  expect(() => readMigrations(pathToFileURL(`${folder}/`))).toThrow('migration 2 is missing');
});

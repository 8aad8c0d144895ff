/** Writes one lead a command through the package, as another program would: a child process. */
import { openPostgresStore, openSqliteStore, type Store } from 'leadtap';

export interface WriteCommand {
  readonly database: { readonly file: string } | { readonly url: string };
  readonly companyId: string;
}

export interface Written {
  /** After the commit, in milliseconds of the monotonic clock that all processes of the machine share. */
  readonly committedAt: number;
}

let store: Promise<Store> | undefined;

process.on('message', async ({ database, companyId }: WriteCommand) => {
  store ??= 'file' in database ? openSqliteStore(database) : openPostgresStore(database);
  await (await store).writeLeads([{ companyId, fields: { firstName: 'New', lastName: 'Lead' } }]);
  process.send?.({ committedAt: Number(process.hrtime.bigint()) / 1e6 } satisfies Written);
});
process.on('disconnect', () => process.exit());
